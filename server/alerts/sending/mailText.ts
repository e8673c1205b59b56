import type { AlertMessage } from '../../../shared/alerts/delivery.ts';
import type { DeliveryRow } from '../../store/sqlite/node/alerts/deliveries.ts';

/** The bytes of an encoded word (RFC 2047), so that it is at most 75 characters long, and the length of a line. */
const WORD_BYTES = 42;
const LINE_CHARACTERS = 76;

/**
 * Returns a message as it is sent by SMTP (RFC 5322): plain text only, so that no mail program interprets what strangers
 * wrote, and in base64, so that no line of theirs is too long or ends the message. The title is one line, so it adds no
 * header.
 */
export function mailText(
  { id, rule_name, created_at }: Pick<DeliveryRow, 'id' | 'rule_name' | 'created_at'>,
  { from, to }: { from: string; to: string },
  message: AlertMessage,
): Buffer {
  const domain = /@([^>@\s]+)>?$/.exec(from)?.[1] ?? 'localhost';
  const head = [
    `From: ${senderHeader(from)}`,
    `To: ${to}`,
    `Subject: ${encodedWords(message.title)}`,
    `Date: ${new Date(created_at).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}@${domain}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
  ];
  const body = Buffer.from(bodyOf(rule_name, message)).toString('base64');
  const lines = body.match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${lines.join('\r\n')}\r\n`);
}

/** `Name <address>`, with the name encoded or in quotes if it needs that. */
function senderHeader(from: string): string {
  const [, name = '', address = from] = /^(.*?)\s*<([^>]*)>$/.exec(from) ?? [];
  if (name === '') return address;
  const isPlain = /^[\w ]+$/.test(name);
  const isAscii = /^[\x20-\x7e]+$/.test(name);
  return `${isPlain ? name : isAscii ? `"${name}"` : encodedWords(name)} <${address}>`;
}

/** A text as it may be in a header: as it is if it is short printable ASCII, else as encoded words. */
function encodedWords(text: string): string {
  if (/^[\x20-\x7e]{0,60}$/.test(text) && !text.includes('=?')) return text;
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((part) => `=?utf-8?B?${Buffer.from(part).toString('base64')}?=`).join('\r\n ');
}

function bodyOf(ruleName: string, { alerts, more }: AlertMessage): string {
  const items = alerts.map(({ title, text, diff, link }) =>
    [title, '', text, ...(diff.length > 0 ? ['', ...diff] : []), '', link].join('\r\n'),
  );
  const rest = more > 0 ? [`And ${more} more, which are listed in the archive.`] : [];
  const separator = `\r\n\r\n${'-'.repeat(40)}\r\n\r\n`;
  const sentBy = `Sent by the alert “${ruleName.replace(/\s+/g, ' ')}” of Strongroom.`;
  return `${[...items, ...rest].join(separator)}\r\n\r\n-- \r\n${sentBy}\r\n`;
}
