/**
 * Remote calls between two processes over a message channel. The other process runs the handler of that name; an error of
 * the handler rejects the call.
 */
export interface Peer {
  call(name: string, ...args: unknown[]): Promise<unknown>;
}

export type Handlers = Record<string, (...args: never[]) => unknown>;

interface Channel {
  send(message: unknown): void;
  listen(receive: (message: unknown) => void): void;
}

type Message = { id: number } & (
  | { call: string; args: unknown[] }
  | { result: unknown }
  | { failure: string }
);

export function createPeer(channel: Channel, handlers: Handlers): Peer {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  channel.listen((received) => {
    const message = received as Message;
    if ('call' in message) {
      runHandler(handlers, message.call, message.args).then(
        (result) => channel.send({ id: message.id, result }),
        (error: unknown) => channel.send({ id: message.id, failure: String(error) }),
      );
      return;
    }
    const caller = waiting.get(message.id);
    waiting.delete(message.id);
    if ('failure' in message) caller?.reject(new Error(message.failure));
    else caller?.resolve(message.result);
  });
  return {
    call: (name, ...args) =>
      new Promise((resolve, reject) => {
        last += 1;
        waiting.set(last, { resolve, reject });
        channel.send({ id: last, call: name, args });
      }),
  };
}

async function runHandler(handlers: Handlers, name: string, args: unknown[]): Promise<unknown> {
  const handler = handlers[name];
  if (!handler) throw new Error(`There is no handler ${name}.`);
  return handler(...(args as never[]));
}
