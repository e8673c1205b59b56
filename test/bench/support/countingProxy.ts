import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

/** Passes requests on to a server and counts them. */
export async function startCountingProxy(server: string) {
  const { hostname, port } = new URL(server);
  let requests = 0;
  const proxy = createServer((incoming, response) => {
    requests += 1;
    const { method, url: path, headers } = incoming;
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, response, () => {});
    });
    passed.on('error', () => response.destroy());
    pipeline(incoming, passed, () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    /** Returns the number of requests since the last call. */
    take: () => {
      const taken = requests;
      requests = 0;
      return taken;
    },
    stop: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
