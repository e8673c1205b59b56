import {
  type HashName,
  hashOfIdentifier,
  type ProofCrypto,
  type SignatureAlgorithm,
  signatureAlgorithmOf,
  UnknownAlgorithmError,
} from '../crypto/algorithms.ts';
import { hexOf, isSameBytes } from '../crypto/bytes.ts';
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
} from '../crypto/der.ts';

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
interface TimestampToken {
  info: TimestampInfo;
  /** The bytes of `info` that the signer digested. */
  content: Uint8Array;
  certificates: readonly Certificate[];
  signer: Signer;
}

interface Signer {
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
const TIMESTAMP_INFO = '1.2.840.113549.1.9.16.1.4';

/** The authority answered that it gives no timestamp. */
class TimestampRefusedError extends Error {
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
  const [status, token, ...more] = expectTag(parseDer(reply), TAG.sequence, 'reply').parts;
  requireNoMore(more, 'reply');
  const code = integerHexOf(expectTag(status, TAG.sequence, 'status').parts[0], 'status');
  // 0 is granted, 1 is granted with changes.
  if (code !== '00' && code !== '01') throw new TimestampRefusedError(String(Number.parseInt(code, 16)));
  const { parts } = expectTag(token, TAG.sequence, 'timestamp');
  const [type, content, ...rest] = parts;
  if (oidOf(type, 'content type') !== SIGNED_DATA) throw new DerError('It is not signed data.');
  requireNoMore(rest, 'content');
  return readSignedData(
    expectTag(onlyPart(expectTagged(content, 0, 'signed data'), 'signed data'), TAG.sequence, 'signed data'),
  );
}

/** What follows the parts that are read would be shown to nobody, and signed by nobody. @throws DerError */
function requireNoMore(parts: readonly DerValue[], what: string): void {
  if (parts.length > 0) throw new DerError(`Its ${what} has a part too many.`);
}

/** Returns a value if it has the context tag `[tag]`. No signature covers the tags around what is signed. @throws DerError */
function expectTagged(value: DerValue | undefined, tag: number, what: string): DerValue {
  if (value?.tagClass !== 'context' || value.tag !== tag) throw new DerError(`It has no ${what}.`);
  return value;
}

function onlyPart(value: DerValue | undefined, what: string): DerValue | undefined {
  requireNoMore(value?.parts.slice(1) ?? [], what);
  return value?.parts[0];
}

function readSignedData(data: DerValue): TimestampToken {
  // RFC 5652, section 5.1: 3, because the content is not plain data.
  if (integerHexOf(data.parts[0], 'version') !== '03') throw new DerError('It has an unknown version.');
  expectTag(data.parts[1], TAG.set, 'list of digest algorithms');
  const wrapped = expectTag(data.parts[2], TAG.sequence, 'content');
  requireNoMore(wrapped.parts.slice(2), 'content');
  if (oidOf(wrapped.parts[0], 'content type') !== TIMESTAMP_INFO)
    throw new DerError('It is not a timestamp.');
  const content = octetsOf(onlyPart(tagged(wrapped, 0), 'content'), 'content');
  // Certificates and revocation lists may be between.
  const between = data.parts.slice(3, -1);
  const isTwice = new Set(between.map(({ tag }) => tag)).size < between.length;
  if (isTwice || between.some(({ tagClass, tag }) => tagClass !== 'context' || tag > 1))
    throw new DerError('It has a part that does not belong there.');
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
  const [version, id, digest, ...rest] = expectTag(signer, TAG.sequence, 'signer').parts;
  const attributes = tagged({ ...signer, parts: rest }, 0);
  if (!attributes || !id) throw new DerError('It has no signed attributes.');
  // RFC 5652, section 5.3: 1 with a serial number, 3 with a key identifier.
  if (integerHexOf(version, 'version') !== (id.tagClass === 'context' ? '03' : '01'))
    throw new DerError('Its signer has an unknown version.');
  const [algorithm, signature, unsigned, ...more] = rest.slice(rest.indexOf(attributes) + 1);
  if (rest[0] !== attributes || more.length > 0)
    throw new DerError('Its signer has a part that does not belong there.');
  if (unsigned) expectTagged(unsigned, 1, 'place for unsigned attributes');
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
  if (id.tagClass === 'context') return { keyId: expectTagged(id, 0, 'key identifier').content };
  const [issuer, serial, ...more] = expectTag(id, TAG.sequence, 'name of the signer').parts;
  requireNoMore(more, 'signer');
  return {
    issuer: expectTag(issuer, TAG.sequence, 'issuer').encoding,
    serial: integerHexOf(serial, 'serial number of the certificate'),
  };
}

function readAttributes(attributes: DerValue): Map<string, DerValue> {
  const found = new Map<string, DerValue>();
  for (const { parts } of attributes.parts) {
    const [type, values, ...more] = parts;
    requireNoMore(more, 'attribute');
    const id = oidOf(type, 'attribute');
    const [value, ...others] = expectTag(values, TAG.set, 'attribute').parts;
    if (!value || others.length > 0 || found.has(id)) throw new DerError('An attribute must have one value.');
    found.set(id, value);
  }
  return found;
}

/** A timestamp does not hold. The message is a sentence that says why. */
export class TimestampError extends Error {
  override name = 'TimestampError';
}

/** A valid timestamp: what it says, and who signed it. */
export interface VerifiedTimestamp {
  /** Milliseconds since the epoch, by the authority's clock. */
  at: number;
  /** As `openssl ts -reply -text` prints it: `0x` and upper-case hex digits. */
  serial: string;
  /** The names in the certificate. Whether they are true, only a certificate authority can say. */
  signer: string;
  issuer: string;
  /** The SHA-256 of the certificate, in hex. Two authorities can have one name. */
  certificate: string;
}

/**
 * Verifies a timestamp offline: it is of this text, it has this nonce (if one is given), it is signed by the key of the
 * certificate in it, and that certificate may sign timestamps and was valid at the time. Whether the certificate is
 * trusted is for the reader to decide: `openssl ts -verify -CAfile` does.
 *
 * @param nonce in hex, with no leading zeros
 * @throws TimestampError; UnknownAlgorithmError
 */
export function verifyTimestamp(
  reply: Uint8Array,
  text: Uint8Array,
  crypto: ProofCrypto,
  nonce?: string,
): VerifiedTimestamp {
  try {
    const token = readTimestampReply(reply);
    const { info } = token;
    if (info.imprintHash !== 'sha256') throw new TimestampError('It uses a hash other than SHA-256.');
    if (!isSameBytes(info.imprint, crypto.digest('sha256', text)))
      throw new TimestampError('It is for other bytes: its imprint does not match.');
    if (nonce !== undefined && info.nonce !== nonce)
      throw new TimestampError('It answers another request: its nonce does not match.');
    const certificate = signingCertificate(token);
    verifySigner(token, certificate, crypto);
    const wrongUsage = describeWrongUsage(certificate);
    if (wrongUsage !== undefined) throw new TimestampError(`Its certificate ${wrongUsage}.`);
    if (info.at < certificate.notBefore || info.at > certificate.notAfter)
      throw new TimestampError('Its certificate was not valid at that time.');
    const { subjectName: signer, issuerName: issuer, encoding } = certificate;
    return {
      at: info.at,
      serial: `0x${info.serial.toUpperCase()}`,
      signer,
      issuer,
      certificate: hexOf(crypto.digest('sha256', encoding)),
    };
  } catch (error) {
    if (error instanceof DerError)
      throw new TimestampError(`It is not a timestamp reply. ${error.message}`, { cause: error });
    if (error instanceof TimestampRefusedError) throw new TimestampError(error.message, { cause: error });
    throw error;
  }
}

function signingCertificate({ certificates, signer: { id } }: TimestampToken): Certificate {
  const found = certificates.find((certificate) =>
    'keyId' in id
      ? subjectKeyId(certificate) === hexOf(id.keyId)
      : certificate.serial === id.serial && isSameBytes(certificate.issuer, id.issuer),
  );
  if (!found) throw new TimestampError('It does not hold the certificate of its signer.');
  return found;
}

const CONTENT_TYPE = '1.2.840.113549.1.9.3';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';

function verifySigner(
  { content, signer }: TimestampToken,
  certificate: Certificate,
  crypto: ProofCrypto,
): void {
  const { attributes, digestHash, algorithm, signedBytes, signature } = signer;
  if (oidOf(attributes.get(CONTENT_TYPE), 'content type') !== TIMESTAMP_INFO)
    throw new TimestampError('Its signature covers something other than a timestamp.');
  const digest = octetsOf(attributes.get(MESSAGE_DIGEST), 'digest');
  if (digestHash === 'sha1') throw new UnknownAlgorithmError('SHA-1');
  if (!isSameBytes(digest, crypto.digest(digestHash, content)))
    throw new TimestampError('It was altered: its signed digest does not match.');
  requireNamedCertificate(signer, certificate, crypto);
  if (!crypto.verify(algorithm, certificate.publicKey, signedBytes, signature))
    throw new TimestampError(
      'It was altered, or was not signed by its certificate: its signature does not match.',
    );
}

const SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12';
const SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47';

/** RFC 3161, section 2.4.1, and RFC 5816: the signed attributes name the certificate by its hash. */
function requireNamedCertificate(
  { attributes }: Signer,
  certificate: Certificate,
  crypto: ProofCrypto,
): void {
  const first = attributes.get(SIGNING_CERTIFICATE)?.parts[0]?.parts[0];
  const second = attributes.get(SIGNING_CERTIFICATE_V2)?.parts[0]?.parts[0];
  if (!first && !second) throw new TimestampError('Its signature does not name a certificate.');
  const isNamed =
    (!first || isNamedBy(first, 'sha1', certificate, crypto)) &&
    (!second || isNamedBy(second, 'sha256', certificate, crypto));
  if (!isNamed) throw new TimestampError('Its signature names another certificate.');
}

/** An ESSCertID or ESSCertIDv2: the hash algorithm, if it is not the usual one, then the hash. */
function isNamedBy(id: DerValue, usual: HashName, certificate: Certificate, crypto: ProofCrypto): boolean {
  const [head, next] = id.parts;
  const hasAlgorithm = head?.tag === TAG.sequence;
  const hash = hasAlgorithm ? hashOfIdentifier(head, 'hash') : usual;
  const named = octetsOf(hasAlgorithm ? next : head, 'hash of the certificate');
  return isSameBytes(named, crypto.digest(hash, certificate.encoding));
}

/** What is read of an X.509 certificate (RFC 5280, section 4.1). */
interface Certificate {
  encoding: Uint8Array;
  serial: string;
  /** The encoded names, to be compared with others. */
  issuer: Uint8Array;
  subject: Uint8Array;
  subjectName: string;
  issuerName: string;
  notBefore: number;
  notAfter: number;
  /** The SubjectPublicKeyInfo in DER. */
  publicKey: Uint8Array;
  extensions: ReadonlyMap<string, { isCritical: boolean; value: Uint8Array }>;
}

/** @throws DerError */
function readCertificate(certificate: DerValue): Certificate {
  const body = expectTag(certificate.parts[0], TAG.sequence, 'certificate');
  // The version is `[0]` and left out in version 1.
  const offset = tagged(body, 0) ? 1 : 0;
  const [serial, , issuer, validity, subject, publicKey] = body.parts.slice(offset);
  const issuerValue = expectTag(issuer, TAG.sequence, 'issuer');
  const subjectValue = expectTag(subject, TAG.sequence, 'subject');
  return {
    encoding: certificate.encoding,
    serial: integerHexOf(serial, 'serial number of the certificate'),
    issuer: issuerValue.encoding,
    subject: subjectValue.encoding,
    issuerName: nameText(issuerValue),
    subjectName: nameText(subjectValue),
    notBefore: timeOf(validity?.parts[0], 'validity'),
    notAfter: timeOf(validity?.parts[1], 'validity'),
    publicKey: expectTag(publicKey, TAG.sequence, 'public key').encoding,
    extensions: readExtensions(tagged(body, 3)),
  };
}

function readExtensions(extensions: DerValue | undefined): Certificate['extensions'] {
  const found = new Map<string, { isCritical: boolean; value: Uint8Array }>();
  for (const extension of extensions?.parts[0]?.parts ?? []) {
    const [id, second] = extension.parts;
    const isCritical = second?.tag === TAG.boolean && second.content[0] !== 0;
    found.set(oidOf(id, 'extension'), { isCritical, value: octetsOf(extension.parts.at(-1), 'extension') });
  }
  return found;
}

const NAME_PARTS: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
};

/** Writes a name as `CN=…, O=…`, escaped as in RFC 4514. Parts of other kinds are left out. */
function nameText(name: DerValue): string {
  const parts = name.parts.flatMap(({ parts: set }) => set);
  return parts
    .map(({ parts: [type, value] }) => ({ type: NAME_PARTS[oidOf(type, 'name')], value }))
    .filter(({ type, value }) => type !== undefined && value !== undefined)
    .map(({ type, value }) => `${type}=${textOf(value as DerValue).replace(/[\\,+"<>;=]/g, '\\$&')}`)
    .toReversed()
    .join(', ');
}

const BMP_STRING = 30;
const UTF8_STRING = 12;

function textOf({ tag, content }: DerValue): string {
  if (tag === BMP_STRING) return new TextDecoder('utf-16be').decode(content);
  return new TextDecoder(tag === UTF8_STRING ? 'utf-8' : 'latin1').decode(content);
}

const EXTENDED_KEY_USAGE = '2.5.29.37';
const KEY_USAGE = '2.5.29.15';
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8';
/** The bits digitalSignature and nonRepudiation. */
const SIGNING_BITS = 0xc0;

/**
 * Returns why a certificate may not sign timestamps, or undefined if it may. RFC 3161, section 2.3: its extended key
 * usage is critical and is timeStamping alone. Its key usage, if it has one, is only to sign.
 */
function describeWrongUsage({ extensions }: Certificate): string | undefined {
  const extended = extensions.get(EXTENDED_KEY_USAGE);
  if (!extended) return 'has no extended key usage';
  if (!extended.isCritical) return 'has an extended key usage that is not critical';
  const purposes = parseDer(extended.value).parts.map((part) => oidOf(part, 'purpose'));
  if (purposes.length !== 1 || purposes[0] !== TIME_STAMPING) return 'is not for timestamps alone';
  const usage = extensions.get(KEY_USAGE);
  if (!usage) return undefined;
  const [, ...bits] = parseDer(usage.value).content;
  const isForSigning = bits.length > 0 && (bits[0] ?? 0) !== 0;
  const hasOther = bits.some((byte, index) => (index === 0 ? (byte & ~SIGNING_BITS) !== 0 : byte !== 0));
  return isForSigning && !hasOther ? undefined : 'is for other uses than signing';
}

function subjectKeyId({ extensions }: Certificate): string | undefined {
  const extension = extensions.get('2.5.29.14');
  return extension && hexOf(octetsOf(parseDer(extension.value), 'key identifier'));
}
