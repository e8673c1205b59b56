import { keepProcessAlive } from './background.ts';

/** Electron's message port in a utility process. Under Node, `process` itself has the channel. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/** The connection from a child process (`child.ts`) to its parent. */
export interface Parent<Request, Reply> {
  listen(receive: (request: Request) => void): void;
  reply(message: Reply): void;
}

/** Connects to the parent process. This process ends when the parent does. */
export function connectToParent<Request, Reply>(): Parent<Request, Reply> {
  const { parentPort } = process as { parentPort?: ParentPort };
  if (parentPort === undefined) {
    process.on('disconnect', () => process.exit());
    return {
      listen: (receive) => void process.on('message', receive),
      reply: (message) => void process.send?.(message),
    };
  }
  // The port does not keep the event loop of a utility process alive (electron#42978); a timer does.
  keepProcessAlive();
  return {
    listen: (receive) => parentPort.on('message', ({ data }) => receive(data as Request)),
    reply: (message) => parentPort.postMessage(message),
  };
}
