import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { expect, test } from 'vitest';
import { browserCrypto } from '../../renderer/evidence/browserCrypto.ts';
import { nodeCrypto, nodeKeyOf, privateKeyOfSeed, signNote } from '../../server/ledger/checkpoint.ts';
import {
  cosign,
  cosignerFrom,
  findCosignature,
  parseCosignerKey,
} from '../../server/ledger/witness/cosignature.ts';
import { isSoundKey } from '../../shared/proof/crypto/ed25519.ts';
import { noteCrypto } from '../../shared/proof/crypto/noteCrypto.ts';
import { ifValid, openCosignature, signatureState } from '../../shared/proof/ledger/signedNote.ts';

const CRYPTOS = { node: nodeCrypto, evidence: browserCrypto, notes: noteCrypto };
const IDENTITY = `01${'00'.repeat(31)}`;
/** The encodings of the points of small order, also those that are not canonical. */
const SMALL_ORDER = [
  IDENTITY,
  '00'.repeat(32),
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
].flatMap((hex) => [
  hex,
  `${hex.slice(0, -2)}${(Number.parseInt(hex.slice(-2), 16) ^ 0x80).toString(16).padStart(2, '0')}`,
]);

const noteOf = (number: number) =>
  `node.example\n${number}\n${Buffer.alloc(32, number).toString('base64')}\n`;

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const BASE = ed25519.Point.BASE;
const TORSION = ed25519.Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a');
const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);

/** Signs as RFC 8032 does, with a key and a nonce whose points may have a part of small order. */
function signed(
  secret: bigint,
  nonce: bigint,
  { inKey, inNonce }: { inKey: boolean; inNonce: boolean },
  text: string,
) {
  const point = (factor: bigint, isMixed: boolean) =>
    (isMixed ? BASE.multiply(factor).add(TORSION) : BASE.multiply(factor)).toBytes();
  const [key, R] = [point(secret, inKey), point(nonce, inNonce)];
  const challenge = numberOf(createHash('sha512').update(R).update(key).update(text).digest()) % ORDER;
  const S = (nonce + challenge * secret) % ORDER;
  const scalar = Buffer.from(S.toString(16).padStart(64, '0'), 'hex').reverse();
  const encoded = Buffer.concat([Buffer.of(1), key]);
  const id = createHash('sha256').update('node.example\n').update(encoded).digest().subarray(0, 4);
  return {
    key: `node.example+${id.toString('hex')}+${encoded.toString('base64')}`,
    note: `${text}\n\u2014 node.example ${Buffer.concat([id, R, scalar]).toString('base64')}\n`,
  };
}

test('all say the same of keys and signatures with a part of small order, on which libraries differ', () => {
  for (const inKey of [false, true])
    for (const inNonce of [false, true])
      for (let number = 1; number <= 24; number += 1) {
        const { key, note } = signed(123_456_789n, 987_654_321n, { inKey, inNonce }, noteOf(number));
        const states = Object.values(CRYPTOS).map((crypto) => signatureState(note, key, crypto));
        const state = inKey || inNonce ? 'invalid' : 'valid';
        expect(states, `${inKey} ${inNonce} ${number}`).toEqual([state, state, state]);
      }
});

test('of a witness, only a line that evidence files accept is kept', () => {
  const body = noteOf(1);
  const cosigner = cosignerFrom('w.example', privateKeyOfSeed(Buffer.alloc(32, 5)));
  const key = parseCosignerKey(cosigner.verifierKey);
  if (!key) throw new Error('The key was not read.');
  const accepts = (line: string) => {
    const note = `${body}\n${line}`;
    return [
      findCosignature(note, body, key) !== undefined,
      ...Object.values(CRYPTOS).map(
        (crypto) => ifValid(() => openCosignature(note, cosigner.verifierKey, crypto)) !== undefined,
      ),
    ];
  };
  const line = cosign(cosigner, body, Date.UTC(2026, 0));
  expect(accepts(line)).toEqual([true, true, true, true]);
  expect(accepts(line.replace('\n', '=\n'))).toEqual([false, false, false, false]);
  expect(accepts(cosign(cosigner, body, 2 ** 70))).toEqual([false, false, false, false]);
  const mixed = Buffer.concat([Buffer.of(4), BASE.add(TORSION).toBytes()]);
  const id = createHash('sha256').update('w.example\n').update(mixed).digest().subarray(0, 4);
  expect(parseCosignerKey(`w.example+${id.toString('hex')}+${mixed.toString('base64')}`)).toBeUndefined();
});

test('a key is believed only if it is of prime order and in its one encoding', () => {
  for (const hex of SMALL_ORDER) expect(isSoundKey(Buffer.from(hex, 'hex')), hex).toBe(false);
  expect(isSoundKey(BASE.toBytes())).toBe(true);
  expect(isSoundKey(BASE.add(TORSION).toBytes())).toBe(false);
  for (let number = 0; number < 50; number += 1) {
    const bytes = createHash('sha256').update(`${number}`).digest();
    let isOfPrimeOrder = false;
    try {
      isOfPrimeOrder = ed25519.Point.fromBytes(bytes).isTorsionFree();
    } catch {
      // No point at all.
    }
    expect(isSoundKey(bytes), bytes.toString('hex')).toBe(isOfPrimeOrder);
    const real = BASE.multiply(numberOf(bytes) % ORDER).toBytes();
    expect(isSoundKey(real)).toBe(true);
  }
});

test.each(Object.entries(CRYPTOS))(
  'with %s, nobody can sign for a key that everybody could sign with',
  (_name, crypto) => {
    for (const hex of SMALL_ORDER) {
      const encoded = Buffer.concat([Buffer.of(1), Buffer.from(hex, 'hex')]);
      const id = createHash('sha256').update('node.example\n').update(encoded).digest().subarray(0, 4);
      const key = `node.example+${id.toString('hex')}+${encoded.toString('base64')}`;
      const signature = Buffer.concat([id, Buffer.from(IDENTITY, 'hex'), Buffer.alloc(32)]).toString(
        'base64',
      );
      // The equation holds for at least one of eight messages.
      for (let number = 1; number <= 32; number += 1)
        expect(
          signatureState(`${noteOf(number)}\n\u2014 node.example ${signature}\n`, key, crypto),
          hex,
        ).not.toBe('valid');
    }
    const genuine = nodeKeyOf('node.example', privateKeyOfSeed(Buffer.alloc(32, 7)));
    expect(signatureState(signNote(genuine, noteOf(1)), genuine.verifierKey, crypto)).toBe('valid');
  },
);
