import { type BrowserConnection, ignoringLateErrors, type Params, ProtocolError } from './protocol.ts';

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
