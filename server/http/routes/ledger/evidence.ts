import type { Evidence } from '../../../../shared/proof/evidence.ts';
import { type EvidenceServices, eventEvidence } from '../../../evidence/eventEvidence.ts';
import { evidenceHtml, readEvidenceParts } from '../../../evidence/evidenceHtml.ts';
import { packEvidence } from '../../../evidence/packEvidence.ts';
import type { Handlers } from '../../app.ts';
import type { WrittenReply } from '../../reply.ts';

/** Handlers for evidence files. */
export function evidenceHandlers(
  services: EvidenceServices,
  rendererFolder: string,
): Pick<Handlers, 'readEventEvidence' | 'readPackEvidence'> {
  const send = async (name: string, collect: () => Promise<Evidence>): Promise<WrittenReply> => {
    const parts = await readEvidenceParts(rendererFolder);
    const html = evidenceHtml(await collect(), parts);
    return {
      write: (response) =>
        void response
          .set({ 'Content-Disposition': `attachment; filename="${name}"`, 'Cache-Control': 'no-store' })
          .type('text/html')
          .send(html),
    };
  };
  return {
    readEventEvidence: ({ params: { id = '' } }) =>
      send(`event-${id}.evidence.html`, () => eventEvidence(services, id)),
    readPackEvidence: ({ params: { id = '' } }) =>
      send(`${id}.evidence.html`, () => packEvidence(services, id)),
  };
}
