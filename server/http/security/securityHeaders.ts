import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/**
 * The policy of the interface's own pages. `upgrade-insecure-requests` is left out because a visitor on the LAN comes
 * over http; inline styles are what the component library writes.
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

/** The headers that every answer has. They are the same for all, so that the library need be asked but once. */
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
    if (error !== undefined) throw new Error('The security headers cannot be made.', { cause: error });
  });
  return headers;
}
