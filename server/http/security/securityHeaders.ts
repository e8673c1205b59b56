import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/**
 * The policy of the web interface. `upgrade-insecure-requests` is omitted because visitors on the local network use
 * http. Inline styles are required by the component library.
 */
const setSecurityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:', 'blob:'],
      workerSrc: ["'self'", 'blob:'],
      objectSrc: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  crossOriginEmbedderPolicy: false,
  crossOriginResourcePolicy: false,
  crossOriginOpenerPolicy: { policy: 'same-origin' },
  originAgentCluster: false,
  strictTransportSecurity: false,
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
});

/** Returns the security headers of every response. They are constant, so helmet is called only once. */
export function securityHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  class Recorder extends ServerResponse {
    override setHeader(name: string, value: number | string | readonly string[]): this {
      headers[name] = String(value);
      return this;
    }
  }
  const request = new IncomingMessage(new Socket());
  setSecurityHeaders(request, new Recorder(request), (error?: unknown) => {
    if (error !== undefined) throw new Error('The security headers cannot be created.', { cause: error });
  });
  return headers;
}
