import {
  type HashName,
  hashOfIdentifier,
  type SignatureAlgorithm,
  signatureAlgorithmOf,
} from './algorithms.ts';
import { type Certificate, readCertificate } from './certificate.ts';
import {
  DerError,
  type DerValue,
  expectTag,
  integerHexOf,
  octetsOf,
  oidOf,
  parseDer,
  TAG,
  tagged,
  timeOf,
} from './der.ts';

/** What a timestamp says (TSTInfo, RFC 3161, section 2.4.2). */
export interface TimestampInfo {
  imprintHash: HashName;
  imprint: Uint8Array;
  /** In hex, with no leading zeros. */
  serial: string;
  /** Milliseconds since the epoch. */
  at: number;
  nonce: string | undefined;
}

/** A signed timestamp, parsed and not yet verified. */
export interface TimestampToken {
  info: TimestampInfo;
  /** The bytes of `info` that the signer digested. */
  content: Uint8Array;
  certificates: readonly Certificate[];
  signer: Signer;
}

export interface Signer {
  /** The issuer's name and the serial number, or the key identifier, of the certificate. */
  id: { issuer: Uint8Array; serial: string } | { keyId: Uint8Array };
  digestHash: HashName;
  algorithm: SignatureAlgorithm;
  /** The signed attributes as a SET OF: what the signature is over (RFC 5652, section 5.4). */
  signedBytes: Uint8Array;
  /** The only value of each attribute, by object identifier. */
  attributes: ReadonlyMap<string, DerValue>;
  signature: Uint8Array;
}

const SIGNED_DATA = '1.2.840.113549.1.7.2';
export const TIMESTAMP_INFO = '1.2.840.113549.1.9.16.1.4';

/** The authority answered that it gives no timestamp. */
export class TimestampRefusedError extends Error {
  constructor(status: string) {
    super(`The authority refused the request with status ${status}.`);
    this.name = 'TimestampRefusedError';
  }
}

/**
 * Parses the answer of a timestamp authority (TimeStampResp, RFC 3161, section 2.4.2).
 *
 * @throws DerError, UnknownAlgorithmError, TimestampRefusedError
 */
export function readTimestampReply(reply: Uint8Array): TimestampToken {
  const [status, token] = expectTag(parseDer(reply), TAG.sequence, 'reply').parts;
  const code = integerHexOf(status?.parts[0], 'status');
  // 0 is granted, 1 is granted with changes.
  if (code !== '00' && code !== '01') throw new TimestampRefusedError(String(Number.parseInt(code, 16)));
  if (!token) throw new DerError('It has no timestamp.');
  if (oidOf(token.parts[0], 'content type') !== SIGNED_DATA) throw new DerError('It is not signed data.');
  return readSignedData(expectTag(tagged(token, 0)?.parts[0], TAG.sequence, 'signed data'));
}

function readSignedData(data: DerValue): TimestampToken {
  const wrapped = expectTag(data.parts[2], TAG.sequence, 'content');
  if (oidOf(wrapped.parts[0], 'content type') !== TIMESTAMP_INFO)
    throw new DerError('It is not a timestamp.');
  const content = octetsOf(tagged(wrapped, 0)?.parts[0], 'content');
  const signers = expectTag(data.parts.at(-1), TAG.set, 'signer').parts;
  const [signer] = signers;
  if (!signer || signers.length !== 1) throw new DerError('It must have one signer.');
  const certificates = tagged(data, 0)?.parts ?? [];
  return {
    info: readInfo(parseDer(content)),
    content,
    // Attribute certificates and other kinds have a context tag.
    certificates: certificates.filter(({ tagClass }) => tagClass === 'universal').map(readCertificate),
    signer: readSigner(signer),
  };
}

function readInfo(info: DerValue): TimestampInfo {
  const [version, policy, imprint, serial, at, ...optional] = expectTag(info, TAG.sequence, 'content').parts;
  if (integerHexOf(version, 'version') !== '01') throw new DerError('It has an unknown version.');
  oidOf(policy, 'policy');
  const nonce = optional.find(({ tagClass, tag }) => tagClass === 'universal' && tag === TAG.integer);
  return {
    imprintHash: hashOfIdentifier(imprint?.parts[0], 'imprint'),
    imprint: octetsOf(imprint?.parts[1], 'imprint'),
    serial: integerHexOf(serial, 'serial number'),
    at: timeOf(expectTag(at, TAG.generalizedTime, 'time'), 'time'),
    nonce: nonce && integerHexOf(nonce, 'nonce'),
  };
}

function readSigner(signer: DerValue): Signer {
  const [, id, digest, ...rest] = expectTag(signer, TAG.sequence, 'signer').parts;
  const attributes = tagged({ ...signer, parts: rest }, 0);
  if (!attributes || !id) throw new DerError('It has no signed attributes.');
  const [algorithm, signature] = rest.slice(rest.indexOf(attributes) + 1);
  const digestHash = hashOfIdentifier(digest, 'digest algorithm');
  const signedBytes = new Uint8Array(attributes.encoding);
  // The signature is over the attributes with the tag of a SET OF in place of `[0]`.
  signedBytes[0] = 0x31;
  return {
    id: signerId(id),
    digestHash,
    algorithm: signatureAlgorithmOf(expectTag(algorithm, TAG.sequence, 'signature algorithm'), digestHash),
    signedBytes,
    attributes: readAttributes(attributes),
    signature: octetsOf(signature, 'signature'),
  };
}

function signerId(id: DerValue): Signer['id'] {
  if (id.tagClass === 'context') return { keyId: id.content };
  const [issuer, serial] = id.parts;
  return {
    issuer: expectTag(issuer, TAG.sequence, 'issuer').encoding,
    serial: integerHexOf(serial, 'serial number of the certificate'),
  };
}

function readAttributes(attributes: DerValue): Map<string, DerValue> {
  const found = new Map<string, DerValue>();
  for (const { parts } of attributes.parts) {
    const [type, values] = parts;
    const id = oidOf(type, 'attribute');
    const [value, ...more] = expectTag(values, TAG.set, 'attribute').parts;
    if (!value || more.length > 0 || found.has(id)) throw new DerError('An attribute must have one value.');
    found.set(id, value);
  }
  return found;
}
