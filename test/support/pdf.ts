/** Returns a PDF with a page for each text (ASCII), in the file structure of ISO 32000-1, section 7.5. */
export function pdfOf(
  pages: readonly string[],
  { title = '', isEncrypted = false }: { title?: string; isEncrypted?: boolean } = {},
): Buffer {
  const contents = pages.map((text) => `BT /F1 12 Tf 72 700 Td (${text.replace(/[()\\]/g, '\\$&')}) Tj ET`);
  return assemble(contents, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>', title, isEncrypted);
}

/** Returns a PDF page in Shift JIS, with a font that is not embedded and needs a predefined CMap. */
export function japanesePdfOf(shiftJis: Buffer): Buffer {
  const descendant =
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /KozMinPr6N-Regular /DW 1000 ' +
    '/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 6 >> >>';
  const font =
    '<< /Type /Font /Subtype /Type0 /BaseFont /KozMinPr6N-Regular-90ms-RKSJ-H /Encoding /90ms-RKSJ-H ' +
    `/DescendantFonts [${descendant}] >>`;
  return assemble([`BT /F1 12 Tf 72 700 Td <${shiftJis.toString('hex')}> Tj ET`], font, '', false);
}

function assemble(contents: readonly string[], font: string, title: string, isEncrypted: boolean): Buffer {
  const FIRST_PAGE = 5;
  const pageNumbers = contents.map((_, index) => FIRST_PAGE + 2 * index);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pageNumbers.map((number) => `${number} 0 R`).join(' ')}] /Count ${contents.length} >>`,
    font,
    `<< /Title (${title}) >>`,
    ...contents.flatMap((content, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> ` +
        `/Contents ${(pageNumbers[index] ?? 0) + 1} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let body = '%PDF-1.7\n';
  const offsets = objects.map((object, index) => {
    const offset = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = ['0000000000 65535 f ', ...offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n `)];
  const secret = `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`;
  const trailer =
    `<< /Size ${table.length} /Root 1 0 R /Info 4 0 R ${isEncrypted ? secret : ''} ` +
    `/ID [<${'00'.repeat(16)}> <${'00'.repeat(16)}>] >>`;
  return Buffer.from(
    `${body}xref\n0 ${table.length}\n${table.join('\n')}\ntrailer\n${trailer}\nstartxref\n${body.length}\n%%EOF\n`,
    'latin1',
  );
}
