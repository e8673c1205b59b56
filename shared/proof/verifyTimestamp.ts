import { type HashName, hashOfIdentifier, type ProofCrypto, UnknownAlgorithmError } from './algorithms.ts';
import { hexOf, isSameBytes } from './bytes.ts';
import { type Certificate, describeWrongUsage, subjectKeyId } from './certificate.ts';
import { DerError, type DerValue, octetsOf, oidOf, TAG } from './der.ts';
import {
  readTimestampReply,
  type Signer,
  TIMESTAMP_INFO,
  TimestampRefusedError,
  type TimestampToken,
} from './timestampToken.ts';

/** A timestamp does not hold. The message is a sentence that says why. */
export class TimestampError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TimestampError';
  }
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
    const { subjectName: signer, issuerName: issuer } = certificate;
    return { at: info.at, serial: `0x${info.serial.toUpperCase()}`, signer, issuer };
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
