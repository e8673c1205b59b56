import type { IncomingMessage, RequestListener } from 'node:http';
import { TICKET_PARAMETER } from '../../../shared/node/session.ts';
import type { SentTicket } from '../../owner/sessions.ts';

const TICKET = Symbol('ticket');
type Ticketed = IncomingMessage & { [TICKET]?: SentTicket };

const AT_THE_END = new RegExp(`[?&]${TICKET_PARAMETER}=(se_[0-9a-f]{20})\\.(\\d{1,15})\\.([0-9a-f]{64})$`);

/**
 * Takes the ticket off the address of a GET or HEAD request, before anything routes by it, stores it or logs it. Routes
 * may have parameters of any name, so nothing but the form of a ticket makes one.
 */
export function takeTickets(next: RequestListener): RequestListener {
  return (request: Parameters<RequestListener>[0] & Ticketed, response) => {
    const { method, url = '' } = request;
    const match = method === 'GET' || method === 'HEAD' ? AT_THE_END.exec(url) : null;
    if (match) {
      const [sent, session = '', expires, mac = ''] = match;
      request.url = url.slice(0, -sent.length);
      request[TICKET] = { session, expires: Number(expires), mac, target: request.url };
    }
    next(request, response);
  };
}

/** Returns the ticket of a request. It may be of no session. */
export function ticketOf(request: Ticketed): SentTicket | undefined {
  return request[TICKET];
}
