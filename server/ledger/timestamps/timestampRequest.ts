import { Boolean as Asn1Boolean, Integer, Null, ObjectIdentifier, OctetString, Sequence } from 'asn1js';

const SHA256 = '2.16.840.1.101.3.4.2.1';

/**
 * Encodes a request for a timestamp (TimeStampReq, RFC 3161, section 2.4.1). It asks for the certificate.
 *
 * @param nonce 16 hex digits, chosen at random
 * @returns the request, and its nonce in hex with no leading zeros, as the answer is read
 */
export function timestampRequest(imprint: Uint8Array, nonce: string): { bytes: Buffer; nonce: string } {
  // Positive and with no leading zero byte, so that it has one encoding.
  const positive = `4${nonce.slice(1)}`;
  const algorithm = new Sequence({ value: [new ObjectIdentifier({ value: SHA256 }), new Null()] });
  const request = new Sequence({
    value: [
      new Integer({ value: 1 }),
      new Sequence({ value: [algorithm, new OctetString({ valueHex: new Uint8Array(imprint) })] }),
      new Integer({ valueHex: new Uint8Array(Buffer.from(positive, 'hex')) }),
      new Asn1Boolean({ value: true }),
    ],
  });
  return { bytes: Buffer.from(request.toBER()), nonce: positive };
}
