/** The public protocol: the contract, its types and its values. Named exports only; nothing is done here. */
export { decodeBase64 } from './base64.ts';
export { CODES, type ErrorKind, ExecError } from './errors.ts';
export { execToClient, execToServer } from './exec/contract.ts';
export { fromNativePath, joinPathUri, toNativePath } from './native-path.ts';
export { HOST_OS, type HostOs, type PathUri, parsePathUri } from './path-uri.ts';
export type {
  Lane,
  Notifications,
  Params,
  Requests,
  Result,
  Row,
  Table,
  WireParams,
  WireResult,
} from './table.ts';
