import { codeOf, NamedError } from '../../domain/errors.js';

/** Nothing was sent, for a reason in plain words. */
export class NotSent extends NamedError {}

/** Why an attempt got no response, in plain words for the delivery log. They quote nothing of the request. */
export const inPlainWords = (error: Error): string => {
  if (error instanceof NotSent) return error.message;
  const code = codeOf(error);
  if (error.name === 'HTTPParserError' && code !== 'HPE_HEADER_OVERFLOW')
    return 'the response is not valid HTTP';
  if (typeof code !== 'string') return error.message === '' ? error.name : error.message;
  const kind = wordsByKind.find(([codes]) => codes.test(code))?.[1];
  return wordsByCode[code] ?? `${kind ?? error.message} (${code})`;
};

const unreachable = "the address can't be reached from here";
const untimely = 'the connection could not be opened in time';
const unnamed = 'the receiver has no certificate for this name';
const noSharedTls = 'the receiver refuses the TLS connection: it wants another cipher or a certificate';
const oldTls = 'the receiver does not speak TLS 1.2 or 1.3';

/** For the other codes of a kind, whose messages are no words for people. */
const wordsByKind: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_(?:SSL|OSSL)_|EPROTO$)/, 'the TLS connection failed'],
  [/^UND_ERR_/, 'the exchange with the receiver failed'],
];

const wordsByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_SOCKET: 'connection closed before the response was complete',
  ETIMEDOUT: untimely,
  UND_ERR_CONNECT_TIMEOUT: untimely,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the response is longer or shorter than its Content-Length',
  ENETUNREACH: unreachable,
  EHOSTUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too large',
  HPE_HEADER_OVERFLOW: 'the headers of the response are too large',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the receiver does not speak TLS, but perhaps plain HTTP',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: noSharedTls,
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': noSharedTls,
  ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: 'the receiver reports an internal error of its TLS',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: unnamed,
  ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME: unnamed,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted: it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted: its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted: its chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted: its issuer is unknown',
};
