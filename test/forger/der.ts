import { type Forgery, otherBytes, pick, type Random } from './forgery.ts';

/** A DER value that can be written again. */
export interface DerNode {
  tag: number;
  /** The bytes of a primitive value. */
  content: Buffer;
  /** The values in it: of a constructed one, and of an OCTET STRING that holds one. */
  children: DerNode[] | undefined;
}

/** Parses one DER value that fills the bytes; undefined if they are none. Only what RFC 3161 needs. */
export function parseDer(bytes: Buffer): DerNode | undefined {
  const all = sequence(bytes);
  return all?.length === 1 ? all[0] : undefined;
}

function sequence(bytes: Buffer): DerNode[] | undefined {
  const nodes: DerNode[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    let length = bytes[at + 1] ?? 0x80;
    let start = at + 2;
    if (length === 0x80 || (tag & 0x1f) === 0x1f) return undefined;
    if (length > 0x80) {
      const size = length - 0x80;
      if (size > 4 || start + size > bytes.length) return undefined;
      length = bytes.readUIntBE(start, size);
      start += size;
    }
    const end = start + length;
    if (end > bytes.length) return undefined;
    const content = bytes.subarray(start, end);
    const isConstructed = (tag & 0x20) !== 0;
    const children = isConstructed || (tag === 4 && length > 2) ? sequence(content) : undefined;
    if (isConstructed && !children) return undefined;
    nodes.push({ tag, content, children });
    at = end;
  }
  return nodes;
}

export function writeDer({ tag, content, children }: DerNode): Buffer {
  const body = children ? Buffer.concat(children.map(writeDer)) : content;
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body]);
  const size = length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
  const head = Buffer.alloc(2 + size);
  head[0] = tag;
  head[1] = 0x80 + size;
  head.writeUIntBE(length, 2, size);
  return Buffer.concat([head, body]);
}

/** The places of all nodes: the indexes on the way to each. */
function* places(node: DerNode, place: number[] = []): Generator<number[]> {
  yield place;
  for (const [index, child] of (node.children ?? []).entries()) yield* places(child, [...place, index]);
}

function replaced(node: DerNode, [index, ...rest]: number[], by: (node: DerNode) => DerNode[]): DerNode[] {
  if (index === undefined) return by(node);
  const children = (node.children ?? []).flatMap((child, at) =>
    at === index ? replaced(child, rest, by) : [child],
  );
  return [{ ...node, children }];
}

function nodeAt(node: DerNode | undefined, place: readonly number[]): DerNode | undefined {
  let found = node;
  for (const index of place) found = found?.children?.[index];
  return found;
}

const OPERATIONS = [
  'delete',
  'null',
  'empty',
  'duplicate',
  'reorder',
  'truncate',
  'swap',
  'borrow',
  'bit',
  'tag',
  'extra',
  'length',
] as const;

/** Forges one node of a DER value. */
export function forgeDer(genuine: Buffer, other: Buffer, random: Random): Forgery<Buffer> {
  const root = parseDer(genuine);
  const otherRoot = parseDer(other);
  if (!root || !otherRoot) throw new Error('It is not DER.');
  const place = pick(random, [...places(root)]);
  const operation = pick(random, OPERATIONS);
  const pointer = `/${place.join('/')}`;
  const write = (by: (node: DerNode) => DerNode[]) => ({
    operation,
    pointer,
    input: Buffer.concat(replaced(root, place, by).map(writeDer)),
  });
  const primitive = (node: DerNode, content: Buffer): DerNode[] => [
    { ...node, content, children: undefined },
  ];
  switch (operation) {
    case 'delete':
      return write(() => []);
    case 'null':
      return write(() => [{ tag: 5, content: Buffer.alloc(0), children: undefined }]);
    case 'empty':
      return write((node) => primitive(node, Buffer.alloc(0)));
    case 'duplicate':
      return write((node) => [node, node]);
    case 'reorder':
      return write((node) => [{ ...node, children: node.children && [...node.children].reverse() }]);
    case 'truncate':
      return write((node) =>
        node.children
          ? [{ ...node, children: node.children.slice(0, -1) }]
          : primitive(node, node.content.subarray(0, -1)),
      );
    case 'swap':
      return write(() => [nodeAt(otherRoot, place) ?? root]);
    case 'borrow':
      return write(() => [nodeAt(root, pick(random, [...places(root)])) ?? root]);
    case 'bit':
      return write((node) =>
        primitive(node, otherBytes(node.children ? writeDer(node).subarray(2) : node.content, random)),
      );
    case 'tag':
      return write((node) => [{ ...node, tag: node.tag ^ pick(random, [1, 2, 0x20, 0x80]) }]);
    case 'extra':
      return write((node) =>
        node.children
          ? [
              {
                ...node,
                children: [...node.children, { tag: 2, content: Buffer.from([1]), children: undefined }],
              },
            ]
          : primitive(node, Buffer.concat([node.content, Buffer.from([0])])),
      );
    case 'length':
      return { operation, pointer, input: Buffer.concat([genuine, Buffer.from([pick(random, [0, 5, 48])])]) };
  }
}
