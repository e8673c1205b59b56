import type { Connection } from '../../../shared/collection/connection.ts';

interface Connected {
  connection?: Connection | null | undefined;
  redirects: { connection?: Connection | undefined }[];
}

/** Returns a retrieval whose connections name only certificates that are held. */
export function withHeldCertificates<Retrieval extends Connected>(
  retrieval: Retrieval,
  isHeld: (sha256: string) => boolean,
): Retrieval {
  const held = (connection: Connection): Connection => {
    const { tls } = connection;
    if (tls?.certificates.every(({ sha256 }) => isHeld(sha256)) !== false) return connection;
    return {
      ...connection,
      tls: { ...tls, certificates: tls.certificates.filter(({ sha256 }) => isHeld(sha256)) },
    };
  };
  const { connection, redirects } = retrieval;
  return {
    ...retrieval,
    ...(connection ? { connection: held(connection) } : {}),
    redirects: redirects.map((hop) => (hop.connection ? { ...hop, connection: held(hop.connection) } : hop)),
  };
}
