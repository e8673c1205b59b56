import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { browserCrypto } from '../../renderer/evidence/browserCrypto.ts';
import { nodeCrypto, nodeKeyOf, privateKeyOfSeed, signNote } from '../../server/ledger/checkpoint.ts';
import { noteCrypto } from '../../shared/proof/noteCrypto.ts';
import { signatureState } from '../../shared/proof/signedNote.ts';

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
