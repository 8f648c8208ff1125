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
  return wordsByCode[code] ?? `${error.message} (${code})`;
};

const unreachable = "the address can't be reached from here";

const wordsByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_SOCKET: 'connection closed before the response was complete',
  ETIMEDOUT: 'the connection could not be opened in time',
  ENETUNREACH: unreachable,
  EHOSTUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too large',
  HPE_HEADER_OVERFLOW: 'the headers of the response are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted: it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted: its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted: its chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted: its issuer is unknown',
};
