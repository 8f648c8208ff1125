import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const oid = (...arcs: readonly number[]) => {
  const [first = 0, second = 0, ...rest] = arcs;
  const bytes = rest.flatMap((arc) => {
    const base128 = [arc & 127];
    for (let left = arc >> 7; left > 0; left >>= 7) base128.unshift((left & 127) | 128);
    return base128;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
};
const whole = (number: number) => der(0x02, Buffer.from([number]));
const time = (at: Date) => der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
const name = (commonName: string) =>
  sequence(der(0x31, sequence(oid(2, 5, 4, 3), der(0x0c, Buffer.from(commonName)))));
const extension = (id: Buffer, critical: boolean, value: Buffer) =>
  sequence(id, ...(critical ? [der(0x01, Buffer.from([255]))] : []), der(0x04, value));
const ecdsaWithSha256 = sequence(oid(1, 2, 840, 10045, 4, 3, 2));

const pem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

const alternative = (host: string) =>
  isIP(host) === 4
    ? der(0x87, Buffer.from(host.split('.').map(Number)))
    : host === '::1'
      ? der(0x87, Buffer.from([...Array<number>(15).fill(0), 1]))
      : der(0x82, Buffer.from(host));

const day = 86_400_000;

interface Wanted {
  readonly serial: number;
  readonly subject: string;
  readonly issuer: string;
  readonly from: Date;
  readonly to: Date;
  readonly publicKey: KeyObject;
  readonly signedBy: KeyObject;
  readonly extensions: readonly Buffer[];
}

const certificate = ({
  serial,
  subject,
  issuer,
  from,
  to,
  publicKey,
  signedBy,
  extensions,
}: Wanted): string => {
  const content = sequence(
    der(0xa0, whole(2)),
    whole(serial),
    ecdsaWithSha256,
    name(issuer),
    sequence(time(from), time(to)),
    name(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', content, signedBy);
  return pem(sequence(content, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature)));
};

const keyPair = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { publicKey, privateKey, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
};

/** A certificate authority for one test, and the certificates that it issues. */
export const certificateAuthority = (commonName = 'Test CA') => {
  const own = keyPair();
  const now = Date.now();
  let serial = 1;
  const cert = certificate({
    serial: serial++,
    subject: commonName,
    issuer: commonName,
    from: new Date(now - day),
    to: new Date(now + 365 * day),
    publicKey: own.publicKey,
    signedBy: own.privateKey,
    extensions: [extension(oid(2, 5, 29, 19), true, sequence(der(0x01, Buffer.from([255]))))],
  });
  return {
    cert,
    /** A server's certificate for names and addresses; `expired`: it expired yesterday. */
    issue: (hosts: readonly string[], { expired = false } = {}): Certificate => {
      const server = keyPair();
      return {
        key: server.pem,
        cert: certificate({
          serial: serial++,
          subject: hosts[0] ?? 'server',
          issuer: commonName,
          from: new Date(now - 10 * day),
          to: new Date(now + (expired ? -1 : 30) * day),
          publicKey: server.publicKey,
          signedBy: own.privateKey,
          extensions: [extension(oid(2, 5, 29, 17), false, sequence(...hosts.map(alternative)))],
        }),
      };
    },
  };
};
