import { hexOf } from './bytes.ts';
import {
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

/** What is read of an X.509 certificate (RFC 5280, section 4.1). */
export interface Certificate {
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
export function readCertificate(certificate: DerValue): Certificate {
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

/** Writes a name as `CN=…, O=…`. Parts of other kinds are left out. */
function nameText(name: DerValue): string {
  const parts = name.parts.flatMap(({ parts: set }) => set);
  return parts
    .map(({ parts: [type, value] }) => ({ type: NAME_PARTS[oidOf(type, 'name')], value }))
    .filter(({ type, value }) => type !== undefined && value !== undefined)
    .map(({ type, value }) => `${type}=${textOf(value as DerValue)}`)
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
export function describeWrongUsage({ extensions }: Certificate): string | undefined {
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

export function subjectKeyId({ extensions }: Certificate): string | undefined {
  const extension = extensions.get('2.5.29.14');
  return extension && hexOf(octetsOf(parseDer(extension.value), 'key identifier'));
}
