/** Drawn for Studio: strokes on a grid of 24. */
const PATHS = {
  threads: "M4 6h16M4 12h16M4 18h10",
  inbox: "M3 13h5l1.5 3h5L16 13h5M5 5h14l2 8v6H3v-6z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  items: "M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4",
  people: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 3-6 7-6s7 2 7 6M17 4a4 4 0 0 1 0 7M18 15c3 .5 4 3 4 6",
  health: "M3 12h4l3-8 4 16 3-8h4",
  fork: "M6 4v16M18 4v5c0 4-12 3-12 8",
  copy: "M8 8h12v12H8zM4 16V4h12",
  warning: "M12 3L2 20h20zM12 10v4M12 17v.5",
  question: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18v.5M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z",
  check: "M4 12l5 5L20 6",
  cross: "M6 6l12 12M18 6L6 18",
  chevron: "M9 5l7 7-7 7",
  live: "M12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM7 7a7 7 0 0 0 0 10M17 7a7 7 0 0 1 0 10M4 4a11 11 0 0 0 0 16M20 4a11 11 0 0 1 0 16",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v6M14 11v6",
  lock: "M6 11h12v10H6zM8 11V8a4 4 0 0 1 8 0v3",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  compare: "M9 4H4v16h5M15 4h5v16h-5M12 2v20",
  keyboard: "M2 6h20v12H2zM6 10h.5M10 10h.5M14 10h.5M18 10h.5M7 14h10",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);
