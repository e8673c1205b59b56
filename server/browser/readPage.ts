import { randomBytes } from 'node:crypto';
import { MAX_PICTURE_HEIGHT, MAX_PICTURE_WIDTH } from '../../shared/collection/noise.ts';
import type { Viewport } from '../../shared/collection/page.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { markFrame, partOfReading, readDocument } from './inPage/read.js';
import { builtIn, stillBuiltIns, stillPart } from './inPage/still.js';
import {
  type BrowserConnection,
  BrowserTimeoutError,
  ignoringLateErrors,
  type Params,
  ProtocolError,
} from './protocol.ts';

/** What a drawn page shows. */
interface PageReading {
  url: string;
  title: string;
  document: string;
  text: string;
  /** Whether something of the document or the text was left out. */
  isCut: boolean;
}

/** Of all frames together. */
const MAX_CHARACTERS = 20_000_000;
/** Longer documents come in several messages, so that none holds up the event loop. */
const MAX_MESSAGE_CHARACTERS = 1_000_000;
const MAX_FRAME_DEPTH = 10;
/** The picture of noise with this many pixels is still shorter than the longest message. */
const MAX_PIXELS = 45_000_000;

/** Reads each frame, and puts it into the one that holds it. */
export async function readDocuments(frames: Frames, main: Pick<Frame, 'id'>): Promise<PageReading> {
  // A page that knew the marks of frames could have frames put anywhere, also where they get out of an attribute.
  const nonce = randomBytes(16).toString('hex');
  const all = await frames.list();
  const byId = new Map(all.map((frame) => [frame.id, frame]));
  for (const [index, frame] of all.entries()) {
    const parent = frame.parent === null ? undefined : byId.get(frame.parent);
    if (parent) await ignoringLateErrors(markOwner(frames, frame, parent, index));
  }
  const read = new Map<number, Reading>();
  let left = MAX_CHARACTERS;
  let isCut = false;
  for (const [index, frame] of all.entries()) {
    await ignoringLateErrors(
      readFrame(frames, frame, left, nonce).then((reading) => {
        read.set(index, reading);
        left -= reading.html.length + reading.text.length;
        isCut ||= reading.cut;
      }),
    );
  }
  const whole = read.get(all.findIndex(({ id }) => id === main.id));
  if (!whole) throw new BrowserTimeoutError();
  const { title, url } = whole;
  const document = joined(read, whole, 'html', nonce);
  const text = joined(read, whole, 'text', nonce);
  const lines = text.joined.split('\n').filter((line) => line !== '');
  return {
    url,
    title,
    document: document.joined,
    text: lines.map((line) => `${line}\n`).join(''),
    isCut: isCut || document.isCut || text.isCut,
  };
}

interface Reading {
  title: string;
  url: string;
  html: string;
  text: string;
  cut: boolean;
}

/** Puts the frames into a document or its text, in place of their marks. */
function joined(
  read: ReadonlyMap<number, Reading>,
  main: Reading,
  part: 'html' | 'text',
  nonce: string,
): { joined: string; isCut: boolean } {
  // The number of a frame, and in a document the name of the attribute that gets it.
  const mark = new RegExp(`\\u{e000}${nonce}:(\\d+)(?::(srcdoc|src|data))?\\u{e001}`, 'gu');
  let isCut = false;
  const within = (value: string, depth: number): string =>
    value.replace(mark, (_whole, number: string, attribute: string | undefined) => {
      const inner = read.get(Number(number));
      if (!inner) return '';
      const content = depth < MAX_FRAME_DEPTH ? within(inner[part], depth + 1) : '';
      const put = attribute === undefined ? content : frameAttribute(attribute, content);
      // Each level of frames makes quotes longer.
      if (depth >= MAX_FRAME_DEPTH || put.length > MAX_CHARACTERS) {
        isCut = true;
        return '';
      }
      return put;
    });
  return { joined: within(main[part], 0), isCut };
}

/** Returns an attribute with a document. Only `iframe` takes HTML; others get an address that contains it. */
function frameAttribute(name: string, html: string): string {
  const value =
    name === 'srcdoc'
      ? html
      : `data:text/html;charset=utf-8,${html
          .replaceAll('%', '%25')
          .replaceAll('#', '%23')
          .replaceAll('\t', '%09')
          .replaceAll('\n', '%0A')
          .replaceAll('\r', '%0D')}`;
  return `${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`;
}

async function readFrame(
  frames: Frames,
  frame: Frame,
  maxCharacters: number,
  nonce: string,
): Promise<Reading> {
  const { title, url, cut, lengths } = await frames.evaluate<ReturnType<typeof readDocument>>(
    frame,
    `(${String(readDocument)})(${Math.max(0, maxCharacters)}, '${nonce}')`,
  );
  const whole = async (part: 'html' | 'text') => {
    const pieces: string[] = [];
    for (let from = 0; from < lengths[part]; from += MAX_MESSAGE_CHARACTERS) {
      pieces.push(
        await frames.evaluate<string>(
          frame,
          `(${String(partOfReading)})('${part}', ${from}, ${from + MAX_MESSAGE_CHARACTERS})`,
        ),
      );
      await yieldToEventLoop();
    }
    return pieces.join('');
  };
  return { title, url, cut, html: await whole('html'), text: await whole('text') };
}

/** Marks the element of a frame in the document that holds it, in our world, where the page does not see it. */
async function markOwner(frames: Frames, frame: Frame, parent: Frame, index: number): Promise<void> {
  const { backendNodeId } = await frames.send<{ backendNodeId: number }>(parent, 'DOM.getFrameOwner', {
    frameId: frame.id,
  });
  const { object } = await frames.send<{ object: { objectId: string } }>(parent, 'DOM.resolveNode', {
    backendNodeId,
    executionContextId: await frames.world(parent),
  });
  await frames.send(parent, 'Runtime.callFunctionOn', {
    objectId: object.objectId,
    functionDeclaration: String(markFrame),
    arguments: [{ value: index }],
  });
}

/** Stops what the browser itself moves in a frame, where no style sheet reaches: in the trees of its own elements. */
export async function stopBuiltIns(frames: Frames, frame: Frame): Promise<void> {
  const count = await frames.evaluate<number>(frame, `(${String(stillBuiltIns)})()`);
  for (let index = 0; index < count; index += 1)
    await ignoringLateErrors(stopBuiltIn(frames, frame, `(${String(builtIn)})(${index})`));
}

interface DescribedNode {
  node: {
    shadowRoots?: { backendNodeId: number; shadowRootType: string }[];
    children?: { backendNodeId: number; localName: string }[];
  };
}

async function stopBuiltIn(frames: Frames, frame: Frame, expression: string): Promise<void> {
  const executionContextId = await frames.world(frame);
  const { result } = await frames.send<{ result: { objectId: string } }>(frame, 'Runtime.evaluate', {
    expression,
    contextId: executionContextId,
  });
  const describe = (params: Params) => frames.send<DescribedNode>(frame, 'DOM.describeNode', params);
  const { node: element } = await describe({ objectId: result.objectId, depth: 0, pierce: true });
  const tree = element.shadowRoots?.find(({ shadowRootType }) => shadowRootType === 'user-agent');
  if (!tree) return;
  // The tree itself cannot be given to a script: that hangs the browser.
  const { node: root } = await describe({ backendNodeId: tree.backendNodeId, depth: 1, pierce: true });
  for (const { backendNodeId } of (root.children ?? []).filter(({ localName }) => localName === 'div')) {
    const { object } = await frames.send<{ object: { objectId: string } }>(frame, 'DOM.resolveNode', {
      backendNodeId,
      executionContextId,
    });
    await frames.send(frame, 'Runtime.callFunctionOn', {
      objectId: object.objectId,
      functionDeclaration: String(stillPart),
    });
  }
}

/** Takes the picture of the whole page. `isWhole` is false if the page is higher than a picture may be. */
export async function takePicture(
  frames: Frames,
  main: Pick<Frame, 'session'>,
  viewport: Viewport,
): Promise<{ picture: Buffer; isWhole: boolean }> {
  const { cssContentSize } = await frames.send<{ cssContentSize: { width: number; height: number } }>(
    main,
    'Page.getLayoutMetrics',
  );
  const whole = Math.max(viewport.height, Math.ceil(cssContentSize.height));
  const height = Math.min(whole, MAX_PICTURE_HEIGHT);
  const maxWidth = Math.max(viewport.width, Math.min(MAX_PICTURE_WIDTH, Math.floor(MAX_PIXELS / height)));
  const width = Math.min(maxWidth, Math.max(viewport.width, Math.ceil(cssContentSize.width)));
  const { data } = await frames.send<{ data: string }>(main, 'Page.captureScreenshot', {
    format: 'png',
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width, height, scale: 1 },
  });
  return { picture: await decoded(data), isWhole: height === whole };
}

/** A multiple of four. */
const PIECE_CHARACTERS = 4_000_000;

/** Decodes base64 piece by piece. */
async function decoded(base64: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let from = 0; from < base64.length; from += PIECE_CHARACTERS) {
    pieces.push(Buffer.from(base64.slice(from, from + PIECE_CHARACTERS), 'base64'));
    await yieldToEventLoop();
  }
  return Buffer.concat(pieces);
}

/** A target of the page: its tab, a frame of another site, or a worker. */
export interface Session {
  id: string;
  type: string;
  target: string;
  /** The default world of each frame, by the id of its execution context. */
  contexts: Map<number, string>;
}

/** A frame, and the session of the process that draws it. */
export interface Frame {
  id: string;
  session: string;
  parent: string | null;
}

interface FrameTree {
  frame: { id: string; parentId?: string };
  childFrames?: FrameTree[];
}

/** The frames of a page. In each is a world of our own, where the page's scripts reach nothing. */
export class Frames {
  readonly #connection: BrowserConnection;
  readonly #sessions: ReadonlyMap<string, Session>;

  constructor(connection: BrowserConnection, sessions: ReadonlyMap<string, Session>) {
    this.#connection = connection;
    this.#sessions = sessions;
  }

  send<Result = Params>(
    { session }: Pick<Frame, 'session'>,
    method: string,
    params?: Params,
  ): Promise<Result> {
    return this.#connection.send<Result>(method, params, session);
  }

  /** All frames, parents first, each once. */
  async list(): Promise<Frame[]> {
    const found = new Map<string, Frame>();
    const add = ({ frame: { id, parentId }, childFrames = [] }: FrameTree, session: string) => {
      if (!found.has(id)) found.set(id, { id, session, parent: parentId ?? null });
      for (const child of childFrames) add(child, session);
    };
    for (const { id: session, type } of this.#sessions.values()) {
      if (type === 'worker') continue;
      const { frameTree } = await this.send<{ frameTree: FrameTree }>({ session }, 'Page.getFrameTree');
      add(frameTree, session);
    }
    return [...found.values()];
  }

  /** Does something in each frame that is still there. */
  async each(work: (frame: Frame) => Promise<unknown>): Promise<void> {
    for (const frame of await this.list()) await ignoringLateErrors(work(frame));
  }

  /** Returns the id of our world in a frame, which is the same until another document is loaded. */
  async world(frame: Pick<Frame, 'id' | 'session'>): Promise<number> {
    const { executionContextId } = await this.send<{ executionContextId: number }>(
      frame,
      'Page.createIsolatedWorld',
      { frameId: frame.id, worldName: 'strongroom' },
    );
    return executionContextId;
  }

  /** Evaluates an expression in our world of a frame. */
  async evaluate<Result>(frame: Pick<Frame, 'id' | 'session'>, expression: string): Promise<Result> {
    const contextId = await this.world(frame);
    const { result, exceptionDetails } = await this.send<{
      result: { value: Result };
      exceptionDetails?: { text: string };
    }>(frame, 'Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new ProtocolError('Runtime.evaluate', exceptionDetails.text);
    return result.value;
  }
}
