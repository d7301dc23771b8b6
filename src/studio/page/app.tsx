import { useEffect } from "preact/hooks";
import { about, notice, type Theme, theme, useTheme } from "./about.ts";
import { go, href, place, type ThreadTab } from "./addresses.ts";
import { ask, link, linkTrouble } from "./asking.ts";
import { AllDialogs } from "./dialogs/all-dialogs.tsx";
import { openDialog } from "./dialogs/open-dialog.ts";
import { useKeys } from "./keys.ts";
import { Empty } from "./parts/basics.tsx";
import { Icon, type IconName } from "./parts/icons.tsx";
import { DiffView } from "./views/diff.tsx";
import { HealthView } from "./views/health.tsx";
import { InboxView } from "./views/inbox.tsx";
import { ItemsView } from "./views/items.tsx";
import { PeopleView } from "./views/people.tsx";
import { SearchView } from "./views/search.tsx";
import { ThreadView } from "./views/thread.tsx";
import { ThreadsView } from "./views/threads.tsx";

const NAVIGATION: readonly (readonly [path: string, label: string, icon: IconName])[] = [
  ["threads", "Threads", "threads"],
  ["inbox", "Inbox", "inbox"],
  ["search", "Search", "search"],
  ["compare", "Compare", "compare"],
  ["items", "Items", "items"],
  ["people", "People", "people"],
  ["health", "Health", "health"],
];

export const App = () => {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      void ask("store").then(
        (answer) => {
          about.value = answer;
          if (link.value !== "fine") timer = setTimeout(look, 2000);
        },
        () => {
          timer = setTimeout(look, 2000);
        },
      );
    };
    if (link.value !== "no-token") look();
    return () => clearTimeout(timer);
  }, [link.value === "no-process"]);
  const [section = "threads", thread = "", tab = "messages"] = place.value.path;
  const store = about.value?.store;
  useEffect(() => {
    const what = section === "t" ? thread : (NAVIGATION.find(([path]) => path === section)?.[1] ?? "Differences");
    document.title = store === undefined ? "holdfast Studio" : `${what} · ${store}`;
  }, [section, thread, store]);
  useKeys({
    "?": () => openDialog({ kind: "keys" }),
    "g t": () => go(["threads"]),
    "g i": () => go(["inbox"]),
    "g s": () => go(["search"]),
    "g h": () => go(["health"]),
  });
  if (link.value === "no-token") return <NoToken />;
  return (
    <div class={`studio ${section === "t" && tab === "messages" ? "full" : ""}`}>
      <button
        type="button"
        class="skip"
        onClick={() => {
          const main = document.querySelector<HTMLElement>("#main");
          main?.setAttribute("tabindex", "-1");
          main?.focus();
        }}
      >
        To the content
      </button>
      <Sidebar section={section === "t" ? "threads" : section === "diff" ? "compare" : section} />
      <div class="content">
        <Banner />
        <View section={section} thread={thread} tab={tab as ThreadTab} />
      </div>
      <AllDialogs />
      <div class="notice" role="status" aria-live="polite">
        {notice.value !== "" && <span>{notice.value}</span>}
      </div>
    </div>
  );
};

const View = ({
  section,
  thread,
  tab,
}: {
  readonly section: string;
  readonly thread: string;
  readonly tab: ThreadTab;
}) => {
  switch (section) {
    case "threads":
      return <ThreadsView />;
    case "t":
      return <ThreadView key={thread} thread={thread} tab={tab} />;
    case "inbox":
      return <InboxView />;
    case "search":
      return <SearchView />;
    case "diff":
      return <DiffView isComparison={false} />;
    case "compare":
      return <DiffView isComparison />;
    case "items":
      return <ItemsView />;
    case "people":
      return <PeopleView />;
    case "health":
      return <HealthView />;
    default:
      return (
        <main class="view" id="main">
          <Empty title="There is no such view">
            <a href={href(["threads"])}>To the threads</a>
          </Empty>
        </main>
      );
  }
};

const THEMES: readonly (readonly [theme: Theme, label: string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

const Sidebar = ({ section }: { readonly section: string }) => {
  const info = about.value;
  return (
    <header class="sidebar">
      <a class="brand" href={href(["threads"])}>
        <img src="/icon.svg" alt="" width="28" height="28" />
        <span>
          <strong>holdfast</strong> Studio
        </span>
      </a>
      {info !== undefined && (
        <p class="store-name" title={info.store}>
          {info.store}
        </p>
      )}
      <nav aria-label="Studio">
        {NAVIGATION.map(([path, label, icon]) => (
          <a key={path} href={href([path])} aria-current={section === path ? "page" : undefined} title={label}>
            <Icon name={icon} /> <span>{label}</span>
          </a>
        ))}
      </nav>
      <div class="sidebar-foot">
        {info !== undefined && (
          <p class={`mode ${info.mayWrite ? "writes" : ""}`}>
            {info.mayDelete ? "May change and delete" : info.mayWrite ? "May change the store" : "Read only"}
          </p>
        )}
        <div class="foot-tools">
          <label class="theme">
            <Icon name="theme" />
            <span class="sr-only">Colours</span>
            <select value={theme.value} onChange={(event) => useTheme(event.currentTarget.value as Theme)}>
              {THEMES.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            class="quiet small"
            onClick={() => openDialog({ kind: "keys" })}
            aria-label="Keys"
            title="Keys (?)"
          >
            <Icon name="keyboard" />
          </button>
        </div>
        {info !== undefined && <p class="faint version">{info.version}</p>}
      </div>
    </header>
  );
};

const Banner = () => {
  if (link.value === "fine") return null;
  return (
    <div class="banner" role="alert">
      <Icon name="warning" />
      {link.value === "no-process"
        ? "Studio's process does not answer. If it was ended, start it again; this page reconnects by itself."
        : `The store does not answer, so what you see may be old. Trying again … ${linkTrouble.value}`}
    </div>
  );
};

const NoToken = () => (
  <main class="view alone" id="main">
    <Empty title="This address is missing its key">
      <p>
        Open the whole address that <code>holdfast studio</code> printed, with everything behind the <code>#</code>.
        Each start has a new one.
      </p>
    </Empty>
  </main>
);
