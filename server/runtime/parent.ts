/** Electron's channel in a utility process; Node has none, and uses the process itself. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/** The process that started this one (`child.ts`), as the script in it meets it. */
export interface Parent<Request, Reply> {
  listen(receive: (request: Request) => void): void;
  reply(message: Reply): void;
}

/** Speaks with whichever program started this process. When that program ends, so does this process. */
export function connectToParent<Request, Reply>(): Parent<Request, Reply> {
  const { parentPort } = process as { parentPort?: ParentPort };
  if (parentPort === undefined) {
    process.on('disconnect', () => process.exit());
    return {
      listen: (receive) => void process.on('message', receive),
      reply: (message) => void process.send?.(message),
    };
  }
  // A utility process ends when its event loop is empty, and its port does not keep it alive (electron#42978).
  setInterval(() => undefined, 2 ** 31 - 1);
  return {
    listen: (receive) => parentPort.on('message', ({ data }) => receive(data as Request)),
    reply: (message) => parentPort.postMessage(message),
  };
}
