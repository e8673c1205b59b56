import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  Boolean as Asn1Boolean,
  Set as Asn1Set,
  type BaseBlock,
  BitString,
  Constructed,
  fromBER,
  Integer,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  UTCTime,
  Utf8String,
} from 'asn1js';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../shared/values/clock.ts';
import { isMissing, writeFileDurably } from '../store/files.ts';

/** A certificate with its private key, both in PEM. */
export interface TlsIdentity {
  key: string;
  /** Followed by the chain, if there is one. */
  certificate: string;
  /** The SHA-256 of the certificate in DER, in lower-case hex. Peers pin it. */
  fingerprint: string;
}

interface NewCertificate {
  /** The common name. */
  name: string;
  /** The host names and IP addresses for which the certificate is valid. */
  hosts: readonly string[];
  /** Milliseconds since the epoch. */
  now: number;
  /** 16 random bytes. */
  serial: Uint8Array;
}

/** Ten years. Others pin the certificate, so a short life would only break their pins. */
const LIFE_MS = 10 * 365 * 86_400_000;
/** The start is in the past, because the clocks of other machines differ. */
const BACKDATED_MS = 86_400_000;

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

/** Makes a key on P-256 and a certificate that it signs itself (RFC 5280, section 4.1). */
function makeCertificate({ name, hosts, now, serial }: NewCertificate): TlsIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(new ObjectIdentifier({ value: ECDSA_WITH_SHA256 }));
  const distinguishedName = sequence(
    new Asn1Set({
      value: [
        sequence(new ObjectIdentifier({ value: COMMON_NAME }), new Utf8String({ value: name.slice(0, 64) })),
      ],
    }),
  );
  const content = sequence(
    contextTag(0, [new Integer({ value: 2 })]),
    // A positive number without leading zero.
    new Integer({
      valueHex: Uint8Array.from(serial, (byte, at) => (at === 0 ? (byte & 0x3f) | 0x40 : byte)).buffer,
    }),
    algorithm,
    distinguishedName,
    sequence(time(now - BACKDATED_MS), time(now + LIFE_MS)),
    distinguishedName,
    fromBER(arrayBuffer(publicKey.export({ format: 'der', type: 'spki' }))).result,
    contextTag(3, [extensions(hosts)]),
  );
  const signature = sign('sha256', Buffer.from(content.toBER()), privateKey);
  const der = sequence(content, algorithm, new BitString({ valueHex: arrayBuffer(signature) })).toBER();
  return identityOf(new X509Certificate(Buffer.from(der)), privateKey);
}

/**
 * Reads a private key and its certificate from one PEM text. A chain may follow the certificate.
 *
 * @throws Error if either cannot be parsed, or the key does not belong to the certificate.
 */
function parseIdentity(pem: string): TlsIdentity {
  const privateKey = createPrivateKey(pem);
  const certificate = new X509Certificate(pem);
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error('The key does not belong to the certificate.');
  return { ...identityOf(certificate, privateKey), certificate: pem };
}

function identityOf(certificate: X509Certificate, privateKey: KeyObject): TlsIdentity {
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    certificate: certificate.toString(),
    fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
  };
}

/** The extensions that browsers require of a server's certificate (RFC 5280, section 4.2). */
function extensions(hosts: readonly string[]): Sequence {
  // The bit for digitalSignature.
  const usage = new BitString({ valueHex: Uint8Array.of(0x80).buffer, unusedBits: 7 });
  return sequence(
    extension(BASIC_CONSTRAINTS, sequence(), { critical: true }),
    extension(KEY_USAGE, usage, { critical: true }),
    extension(EXTENDED_KEY_USAGE, sequence(new ObjectIdentifier({ value: SERVER_AUTHENTICATION }))),
    extension(SUBJECT_ALTERNATIVE_NAME, sequence(...hosts.map(generalName))),
  );
}

function extension(id: string, value: BitString | Sequence, { critical = false } = {}): Sequence {
  return sequence(
    new ObjectIdentifier({ value: id }),
    ...(critical ? [new Asn1Boolean({ value: true })] : []),
    new OctetString({ valueHex: value.toBER() }),
  );
}

/** An iPAddress or a dNSName (RFC 5280, section 4.2.1.6). */
function generalName(host: string): Primitive {
  const bytes = isIP(host) ? Uint8Array.from(ipaddr.parse(host).toByteArray()) : Buffer.from(host, 'ascii');
  return new Primitive({
    idBlock: { tagClass: 3, tagNumber: isIP(host) ? 7 : 2 },
    valueHex: arrayBuffer(bytes),
  });
}

function sequence(...value: BaseBlock[]): Sequence {
  return new Sequence({ value });
}

function contextTag(tagNumber: number, value: (Integer | Sequence)[]): Constructed {
  return new Constructed({ idBlock: { tagClass: 3, tagNumber }, value });
}

/** Dates before 2050 must be UTCTime (RFC 5280, section 4.1.2.5). */
function time(at: number): UTCTime {
  return new UTCTime({ valueDate: new Date(Math.floor(at / 1000) * 1000) });
}

function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/** The private key and the certificate, in the data folder. The owner may replace it by one of their own. */
const TLS_FILE = 'tls.pem';

/**
 * Returns the certificate in the data folder. If there is none, one is made for these names and addresses.
 *
 * @throws Error with one sentence that says what to do if the file cannot be used.
 */
export async function openTlsIdentity(
  folder: string,
  { name, hosts, clock }: { name: string; hosts: readonly string[]; clock: Clock },
): Promise<TlsIdentity> {
  const file = join(folder, TLS_FILE);
  let pem: string;
  try {
    pem = await readFile(file, 'utf8');
  } catch (error) {
    if (!isMissing(error)) throw error;
    const made = makeCertificate({ name, hosts, now: clock.now(), serial: randomBytes(16) });
    await writeFileDurably(file, made.key + made.certificate, 0o600);
    return made;
  }
  try {
    return parseIdentity(pem);
  } catch (error) {
    throw new Error(
      `${file} is not a private key and its certificate in PEM. Replace it, or remove it to get a new certificate.`,
      { cause: error },
    );
  }
}
