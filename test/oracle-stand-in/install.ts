import { ServerError, StandInDatabase } from "./database.ts";
import {
  constants,
  errors,
  type Message,
  messages,
  NetworkSessionClass,
  type Protocol,
  ProtocolClass,
  type NetworkSession as Session,
} from "./driver-internals.ts";
import { said } from "./oracle-errors.ts";
import { StandInWire } from "./wire.ts";

/**
 * Makes `oracledb` answer for services whose names begin with `standin_`: the
 * rest of the name is a database of the PostgreSQL at that host and port, and
 * the user and the password are its. All other services are left to the network.
 */
const SERVICE = /\(SERVICE_NAME=standin_([^)]*)\)/i;

/** The stand-in behind a session of the network. */
const wires = new WeakMap<object, StandInWire>();

interface Address {
  readonly host: string;
  readonly port: number;
  readonly CNdata: readonly string[];
}

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** What the tests want to know of a session: each message that left the driver. */
export interface MessageSeen {
  readonly kind: string;
  readonly sql: string | undefined;
}

const listeners = new Set<(seen: MessageSeen) => void>();

/** Calls back with every message that leaves the driver, until the returned function is called. */
export function onMessage(listener: (seen: MessageSeen) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

type Faults = (seen: MessageSeen, wire: StandInWire) => "before" | "after" | "silence" | number | undefined;
let faults: Faults = () => undefined;

/** Cuts the line before a message arrives, or after it was carried out and before its answer is back; lets it fall silent; or answers with this error of the server's instead of carrying it out. */
export function setFaults(next: Faults | undefined): void {
  faults = next ?? (() => undefined);
}

const realConnect = NetworkSessionClass.prototype["connect1"] as (...given: unknown[]) => Promise<void>;
NetworkSessionClass.prototype["connect1"] = async function (
  this: Session,
  address: Address,
  ...rest: [unknown, Credentials]
) {
  const service = SERVICE.exec(address.CNdata.join(""))?.[1];
  if (service === undefined) return realConnect.call(this, address, ...rest);
  const [, { user, password }] = rest;
  const lost = (): void => disconnect(this);
  const { host, port } = address;
  const place = { host, port: Number(port), database: service, user, password, onLost: lost };
  const opened = await StandInDatabase.connect(place).catch((error: unknown) => refusal(error, address, service));
  const wire = new StandInWire(opened);
  wires.set(this, wire);
  attach(this, wire);
};

/** Who is refused hears it when he says who he is. */
function refusal(error: unknown, { host, port }: Address, service: string): ServerError {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  if (code === "28P01" || code === "28000") {
    return new ServerError({ num: 1017, message: "ORA-01017: invalid credential or not authorized; logon denied" });
  }
  if (code === "3D000") throw errors.getErr(errors["ERR_INVALID_SERVICE_NAME"], service, host, port, "id");
  throw errors.getErr(errors["ERR_CONNECTION_INCOMPLETE"], host, port, "id", `${code ?? ""} ${message ?? ""}`.trim());
}

function attach(session: Session, wire: StandInWire): void {
  Object.assign(session.sAtts, { sdu: 8192, version: 319, largeSDU: true });
  session.connected = true;
  open.add(session);
  session.ntAdapter = {
    connected: true,
    hostName: "stand-in",
    port: 0,
    secure: false,
    getOption: () => undefined,
    shouldPauseWrite: () => false,
    pauseWrite: async () => undefined,
  };
  Object.assign(session, {
    sendPacket: () => undefined,
    recvInbandNotif: () => (session.connected && !draining.has(session) ? 0 : 12_570),
    sendBreak: () => wire.cancel(),
    reset: async () => undefined,
    disconnect: () => disconnect(session),
    forceDisconnect: () => disconnect(session),
  });
}

const open = new Set<Session>();
const draining = new WeakSet<Session>();

/** Tells every session that is open to go, as a server does before maintenance: in the band, and without ending it. */
export function drainSessions(): void {
  for (const session of open) draining.add(session);
}

function disconnect(session: Session): void {
  open.delete(session);
  if (!session.connected) return;
  session.connected = false;
  session.ntAdapter = { connected: false };
  void wires.get(session)?.end();
}

const realProcess = ProtocolClass.prototype["_processMessage"] as (message: Message) => Promise<void>;
ProtocolClass.prototype["_processMessage"] = async function (this: Protocol, message: Message) {
  const wire = wires.get(this.nsi);
  if (wire === undefined) return realProcess.call(this, message);
  if (!this.nsi.connected) throw lostConnection();
  if (!isOfLogon(message)) await this._encodeMessage(message);
  const seen = { kind: message.constructor.name, sql: message.statement?.sql };
  if (!isOfLogon(message)) for (const listener of listeners) listener(seen);
  message.preProcess?.();
  const fault = faults(seen, wire);
  if (fault === "before") throw cut(this.nsi);
  if (fault === "silence") await new Promise(() => undefined);
  const isLate = await withinCallTimeout(this, wire, () => answered(this, wire, message, fault));
  if (fault === "after") throw cut(this.nsi);
  message.callStatus = wire.isInTransaction ? (constants["TNS_EOCS_FLAGS_TXN_IN_PROGRESS"] ?? 0) : 0;
  await this._processCallStatus(message);
  if (isLate) throw errors.getErr(errors["ERR_CALL_TIMEOUT_EXCEEDED"], this.callTimeout);
  if (message.errorOccurred) this._raiseException(message);
  await message.postProcess();
};

async function answered(protocol: Protocol, wire: StandInWire, message: Message, fault: unknown): Promise<void> {
  try {
    if (typeof fault === "number") throw new ServerError(said(fault, "on purpose"));
    await wire.answer(protocol, message);
  } catch (error) {
    if (!(error instanceof ServerError)) throw cut(protocol.nsi);
    message.errorOccurred = true;
    message.errorInfo = { ...error.oracle, pos: 0, isRecoverable: false };
  }
}

async function withinCallTimeout(protocol: Protocol, wire: StandInWire, work: () => Promise<void>): Promise<boolean> {
  let isLate = false;
  const late = (): void => {
    isLate = true;
    wire.cancel();
  };
  const timer = protocol.callTimeout > 0 ? setTimeout(late, protocol.callTimeout) : undefined;
  try {
    await work();
  } finally {
    clearTimeout(timer);
  }
  return isLate;
}

function cut(session: Session): Error {
  disconnect(session);
  return lostConnection();
}

const lostConnection = (): Error => errors.getErr(errors["ERR_CONNECTION_CLOSED"]);

const LOGON = ["ProtocolMessage", "DataTypeMessage", "AuthMessage"] as const;
const isOfLogon = (message: Message): boolean => LOGON.some((name) => message instanceof (messages[name] ?? Object));
