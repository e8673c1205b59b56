import { randomBytes } from 'node:crypto';
import MimeNode from 'nodemailer/lib/mime-node';
import type { AlertMessage } from '../../../shared/alerts/delivery.ts';
import type { DeliveryRow } from '../../store/sqlite/node/alerts/deliveries.ts';

/**
 * Returns a message as it is sent by SMTP: plain text only, so that no mail program interprets what strangers wrote. Its
 * title is one line, so it adds no header.
 */
export function mailText(
  { id, rule_name, created_at }: Pick<DeliveryRow, 'id' | 'rule_name' | 'created_at'>,
  { from, to }: { from: string; to: string },
  message: AlertMessage,
): Promise<Buffer> {
  const domain = /@([^>@\s]+)>?$/.exec(from)?.[1] ?? 'localhost';
  const node = new MimeNode('text/plain; charset=utf-8', {
    disableFileAccess: true,
    disableUrlAccess: true,
    baseBoundary: randomBytes(8).toString('hex'),
  });
  node.setHeader({
    from,
    to,
    subject: message.title,
    date: new Date(created_at).toUTCString().replace('GMT', '+0000'),
    'message-id': `<${id}@${domain}>`,
    'auto-submitted': 'auto-generated',
  });
  node.setContent(bodyOf(rule_name, message));
  return node.build();
}

function bodyOf(ruleName: string, { alerts, more }: AlertMessage): string {
  const items = alerts.map(({ title, text, diff, link }) =>
    [title, '', text, ...(diff.length > 0 ? ['', ...diff] : []), '', link].join('\r\n'),
  );
  const rest = more > 0 ? [`And ${more} more, which are listed in the archive.`] : [];
  const separator = `\r\n\r\n${'-'.repeat(40)}\r\n\r\n`;
  return `${[...items, ...rest].join(separator)}\r\n\r\n-- \r\nSent by the alert “${ruleName.replace(/\s+/g, ' ')}” of Strongroom.\r\n`;
}
