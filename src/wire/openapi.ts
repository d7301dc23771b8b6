import { ERROR_CODES, type ErrorCode } from "../errors.ts";
import { headersFor, preconditionsOf, SHARED_HEADERS } from "./openapi-headers.ts";
import { STATUS_OF } from "./problems.ts";
import { PROBLEM_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION, SCOPES } from "./protocol.ts";
import type { Route } from "./route.ts";
import { OPERATIONS, type Operation, ROUTES } from "./routes.ts";
import { PARAMETERS, PATH_IDS, SCHEMAS } from "./schemas.ts";

const MOST_BYTES =
  "maxBodyBytes of the service, 16777216 unless the operator says otherwise; one record may be half of it";

const schemaRef = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

/** The protocol as OpenAPI 3.1, generated from the table of routes. */
export function describeProtocol(): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    const route = ROUTES[operation];
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describe(operation, route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "holdfast checkpoint service",
      version: PROTOCOL_VERSION,
      description: [
        `Every answer carries the header ${PROTOCOL_HEADER}: ${PROTOCOL_VERSION}.`,
        "Ids in paths are unpadded base64url of their UTF-8 bytes.",
        'Only {"found": false} means that something is not there.',
        "Every GET may be asked with HEAD. A method that a path does not have is 405 with Allow, a path that does not exist 404.",
        "Bodies may be packed with gzip; limits count what comes out.",
      ].join(" "),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "Where the service is mounted" }],
    paths,
    components: {
      schemas: SCHEMAS,
      headers: SHARED_HEADERS,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: `Scopes: ${SCOPES.join(", ")}. A token belongs to one tenant`,
        },
      },
      responses: Object.fromEntries(
        problemsByStatus().map(([status, means]) => [`Problem${status}`, problem(status, means)]),
      ),
    },
  };
}

function describe(operation: Operation, route: Route): object {
  const ids = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: `The id of the ${name} in unpadded base64url`,
    schema: PATH_IDS[name],
  }));
  const query = (route.query ?? []).map(({ name, means, schema, required = false }) => ({
    name,
    in: "query",
    required,
    description: means,
    schema: PARAMETERS[schema],
  }));
  return {
    operationId: operation,
    summary: route.means,
    security: route.access === "public" ? [] : [{ token: [] }],
    ...(route.access !== "public" && { "x-access": route.access }),
    parameters: [...ids, ...query, ...preconditionsOf(route)],
    ...(route.request !== undefined && {
      requestBody: {
        required: true,
        description: `Its limit in bytes: ${route.request.maxBytes ?? MOST_BYTES}`,
        content: { [route.request.type]: { schema: schemaRef(route.request.schema) } },
      },
    }),
    responses: { ...answersOf(route), ...failuresOf(route) },
  };
}

/** Several answers may share a status: a state, or the word for its absence. */
function answersOf(route: Route): object {
  const { answers } = route;
  const statuses = [...new Set(answers.map(({ status }) => status))];
  const described = statuses.map((status) => {
    const same = answers.filter((answer) => answer.status === status);
    const content = [...new Set(same.map(({ type }) => type))].map((type) => {
      const refs = same.filter((answer) => answer.type === type).map(({ schema }) => schemaRef(schema));
      return [type, { schema: refs.length === 1 ? refs[0] : { oneOf: refs } }];
    });
    return [
      status,
      {
        description: same.map(({ means }) => means).join("; "),
        headers: headersFor(status, route),
        content: Object.fromEntries(content),
      },
    ];
  });
  const unchanged = { description: "The client has it: If-None-Match names its ETag", headers: headersFor(304, route) };
  return { ...Object.fromEntries(described), ...(route.isTagged && { 304: unchanged }) };
}

/** Statuses that do not follow from an error code: which requests can get them, and why. */
const BEYOND_CODES: readonly (readonly [status: number, means: string, meets: (route: Route) => boolean])[] = [
  [401, "PERMISSION_DENIED: no token, or one that is not known", ({ access }) => access !== "public"],
  [408, "TIMEOUT: the body did not arrive in time", ({ request }) => request !== undefined],
  [412, "CONFLICT: the thread is not at a place that If-Match names", ({ isTagged }) => isTagged === true],
  [
    415,
    "INVALID_ARGUMENT: another Content-Type or Content-Encoding is wanted; Accept and Accept-Encoding name it",
    ({ request }) => request !== undefined,
  ],
  [428, "INVALID_ARGUMENT: If-Match or If-None-Match: * is missing", ({ precondition }) => precondition === "required"],
  [431, "TOO_LARGE: more than 100 headers, or more than 16 KiB of them", () => true],
];

/** Even a request without any rights can be malformed. */
const OF_EVERYBODY = [400, 403];

function failuresOf(route: Route): object {
  const taken = new Set(route.answers.map(({ status }) => status));
  const beyond = new Map(BEYOND_CODES.map(([status, , meets]) => [status, meets(route)]));
  const isMet = (status: number): boolean =>
    !taken.has(status) && (beyond.get(status) ?? (route.access !== "public" || OF_EVERYBODY.includes(status)));
  const failures = problemsByStatus().filter(([status]) => isMet(status));
  return Object.fromEntries(failures.map(([status]) => [status, { $ref: `#/components/responses/Problem${status}` }]));
}

function problemsByStatus(): readonly (readonly [status: number, means: readonly string[]])[] {
  const byStatus = new Map<number, string[]>(BEYOND_CODES.map(([status, means]) => [status, [means]]));
  for (const [code, status] of Object.entries(STATUS_OF) as [ErrorCode, number][]) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), `${code}: ${ERROR_CODES[code].means}`]);
  }
  return [...byStatus].sort(([a], [b]) => a - b);
}

const problem = (status: number, means: readonly string[]): object => ({
  description: means.join("; "),
  headers: headersFor(status),
  content: { [PROBLEM_TYPE]: { schema: schemaRef("Problem") } },
});
