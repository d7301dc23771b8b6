import { ERROR_CODES, type ErrorCode } from "../errors.ts";
import { STATUS_OF } from "./problems.ts";
import { PROBLEM_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION, SCOPES } from "./protocol.ts";
import { OPERATIONS, type Operation, ROUTES, type Route } from "./routes.ts";
import { SCHEMAS } from "./schemas.ts";

const schemaRef = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

/** The protocol as OpenAPI 3.1, from the table of routes. */
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
      description: `Every answer carries the header ${PROTOCOL_HEADER}: ${PROTOCOL_VERSION}. Ids in paths are unpadded base64url of their UTF-8 bytes. Only {"found": false} means that something is not there.`,
    },
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: `Scopes: ${SCOPES.join(", ")}. A token belongs to one tenant`,
        },
      },
      responses: Object.fromEntries(problemsByStatus().map(([status, codes]) => [`Problem${status}`, problem(codes)])),
    },
  };
}

function describe(operation: Operation, route: Route): object {
  const ids = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    description: `The id of the ${name} in unpadded base64url`,
    schema: { type: "string", pattern: "^[A-Za-z0-9_-]+$" },
  }));
  const query = (route.query ?? []).map(({ name, means, schema, required = false }) => ({
    name,
    in: "query",
    required,
    description: means,
    schema: schema === "count" ? { type: "integer", minimum: 0 } : { type: "string" },
  }));
  return {
    operationId: operation,
    summary: route.means,
    security: route.access === "public" ? [] : [{ token: [] }],
    ...(route.access !== "public" && { "x-access": route.access }),
    parameters: [...ids, ...query, ...preconditions(route)],
    ...(route.request !== undefined && {
      requestBody: { required: true, content: { [route.request.type]: { schema: schemaRef(route.request.schema) } } },
    }),
    responses: { ...answersOf(route), ...failuresOf(route) },
  };
}

function preconditions({ precondition, request }: Route): readonly object[] {
  if (precondition === undefined) return [];
  const header = (name: string, description: string): object => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  });
  const ifMatch = header("If-Match", 'The place it builds on, as the ETag gives it: "<generation>:<tail>"');
  if (request === undefined) return [ifMatch];
  return [
    ifMatch,
    header("If-None-Match", "*, instead of If-Match, to make the thread"),
    header("Idempotency-Key", "The record's writeId, percent-encoded and in quotes"),
  ];
}

/** Several answers may share a status: a state, or the word that there is none. */
function answersOf({ answers }: Route): object {
  const statuses = [...new Set(answers.map(({ status }) => status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const same = answers.filter((answer) => answer.status === status);
      const content = [...new Set(same.map(({ type }) => type))].map((type) => {
        const refs = same.filter((answer) => answer.type === type).map(({ schema }) => schemaRef(schema));
        return [type, { schema: refs.length === 1 ? refs[0] : { oneOf: refs } }];
      });
      return [status, { description: same.map(({ means }) => means).join("; "), content: Object.fromEntries(content) }];
    }),
  );
}

function failuresOf(route: Route): object {
  if (route.access === "public") return {};
  const taken = new Set(route.answers.map(({ status }) => status));
  const failures = problemsByStatus().filter(([status]) => !taken.has(status));
  return Object.fromEntries(failures.map(([status]) => [status, { $ref: `#/components/responses/Problem${status}` }]));
}

function problemsByStatus(): readonly (readonly [status: number, codes: readonly ErrorCode[]])[] {
  const byStatus = new Map<number, ErrorCode[]>([[401, ["PERMISSION_DENIED"]]]);
  for (const [code, status] of Object.entries(STATUS_OF) as [ErrorCode, number][]) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return [...byStatus].sort(([a], [b]) => a - b);
}

const problem = (codes: readonly ErrorCode[]): object => ({
  description: codes.map((code) => `${code}: ${ERROR_CODES[code].means}`).join("; "),
  content: { [PROBLEM_TYPE]: { schema: schemaRef("Problem") } },
});
