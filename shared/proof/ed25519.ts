/*
 * Which Ed25519 keys can be believed. Libraries differ: some accept keys of small order, for which anybody can sign, and keys of
 * mixed order, of whose signatures some are valid with one library and not with another. So they are refused before any library
 * is asked, and all programs say the same of one signature.
 */

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const KEY_BYTES = 32;
/** What is remembered: the keys of a few nodes and witnesses are asked for again and again. */
const MAX_REMEMBERED = 1_000;
const remembered = new Map<string, boolean>();

/** A point in extended coordinates: x = X/Z, y = Y/Z, xy = T/Z. */
type Point = readonly [X: bigint, Y: bigint, Z: bigint, T: bigint];

/** Whether these are the 32 bytes of a public key of prime order, in the one encoding that RFC 8032 allows. */
export function isSoundKey(key: Uint8Array): boolean {
  if (key.length !== KEY_BYTES) return false;
  const id = key.join();
  const known = remembered.get(id);
  if (known !== undefined) return known;
  const point = decoded(key);
  const isSound = point !== undefined && !isIdentity(point) && isIdentity(multiplied(point, ORDER));
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(id, isSound);
  return isSound;
}

function decoded(key: Uint8Array): Point | undefined {
  const number = key.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const [isOdd, y] = [number >> 255n, number & (2n ** 255n - 1n)];
  if (y >= P) return undefined;
  const square = modulo((y * y - 1n) * power(modulo(D * y * y + 1n), P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (modulo(x * x) !== square) x = modulo(x * power(2n, (P - 1n) / 4n));
  if (modulo(x * x) !== square || (x === 0n && isOdd === 1n)) return undefined;
  if ((x & 1n) !== isOdd) x = P - x;
  return [x, y, 1n, modulo(x * y)];
}

function isIdentity([X, Y, Z]: Point): boolean {
  return X === 0n && Y === Z;
}

function multiplied(point: Point, factor: bigint): Point {
  let result: Point = [0n, 1n, 1n, 0n];
  for (const bit of factor.toString(2)) {
    result = sum(result, result);
    if (bit === '1') result = sum(result, point);
  }
  return result;
}

/** RFC 8032, section 5.1.4. */
function sum([X1, Y1, Z1, T1]: Point, [X2, Y2, Z2, T2]: Point): Point {
  const A = modulo((Y1 - X1) * (Y2 - X2));
  const B = modulo((Y1 + X1) * (Y2 + X2));
  const C = modulo(2n * T1 * D * T2);
  const M = modulo(2n * Z1 * Z2);
  const [E, F, G, H] = [B - A, M - C, M + C, B + A];
  return [modulo(E * F), modulo(G * H), modulo(F * G), modulo(E * H)];
}

function modulo(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}
