import type { Agent, AgentOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';

/** What the connections of a pinned agent report. */
export interface PinnedAgentOptions extends AgentOptions {
  /**
   * Called with the SHA-256 of the server's certificate, in lower-case hex, before anything is sent. A returned error ends
   * the connection, and the request fails with it.
   */
  check: (fingerprint: string) => Error | undefined;
}

/**
 * Returns an agent for HTTPS that trusts a server by its certificate alone. Nodes make their own certificates, so neither
 * an issuer nor a name would say anything. Sessions are not resumed, because a resumed one shows no certificate.
 */
export function pinnedAgent({ check, ...options }: PinnedAgentOptions): Agent {
  const https = process.getBuiltinModule('node:https');
  const { connect } = process.getBuiltinModule('node:tls');
  const opening = new Set<TLSSocket>();
  const agent = new https.Agent({ ...options, maxCachedSessions: 0 });
  agent.createConnection = (target, callback) => {
    const socket = connect({ ...(target as object), rejectUnauthorized: false });
    const settle = (error: Error | null) => {
      if (!opening.delete(socket)) return;
      if (error) socket.destroy();
      callback?.(error, socket);
    };
    opening.add(socket);
    socket.on('error', settle);
    socket.once('close', () => settle(new Error('The connection was closed.')));
    socket.once('secureConnect', () => settle(checkCertificate(socket, check) ?? null));
    return undefined;
  };
  const destroy = agent.destroy.bind(agent);
  agent.destroy = () => {
    for (const socket of opening) socket.destroy();
    destroy();
  };
  return agent;
}

function checkCertificate(socket: TLSSocket, check: PinnedAgentOptions['check']): Error | undefined {
  const shown = socket.getPeerX509Certificate()?.fingerprint256;
  return shown === undefined
    ? new Error('The server has no certificate.')
    : check(shown.replaceAll(':', '').toLowerCase());
}
