import { type SetFiles, sizeOf } from '../../shared/proof/evidenceFiles.ts';
import { linesOf } from '../../shared/proof/fileList.ts';
import { countOf, formatCount } from '../../shared/values/counts.ts';
import { element, section } from './elements.ts';

/** How many files are shown before the reader asks for all: a set may have tens of thousands. */
const SHOWN_FILES = 100;

/** Lists the files of a set, and gives the list as a file that other programs compare files with. */
export function setSection(set: SetFiles): HTMLElement {
  const { files } = set;
  // As text, browsers would save it as “SHA256SUMS.txt”.
  const sums = new Blob([linesOf(files)], { type: 'application/octet-stream' });
  const address = URL.createObjectURL(sums);
  const list = element('ul', { class: 'files' }, ...files.slice(0, SHOWN_FILES).map(itemOf));
  const found = section(
    'Files of the set',
    element('p', {}, `set.json lists ${sizeOf(set)}, each with its SHA-256.`),
    element(
      'p',
      { class: 'screen' },
      element('a', { href: address, download: 'SHA256SUMS' }, 'Save the list'),
      ' beside your copy of the files. There, ',
      element('code', {}, 'sha256sum -c SHA256SUMS'),
      ' checks them.',
    ),
    list,
  );
  if (files.length > SHOWN_FILES) found.append(restOf(files, list));
  return found;
}

function itemOf({ path, bytes, sha256 }: SetFiles['files'][number]): HTMLElement {
  const size = element('span', {}, countOf(bytes, 'byte'));
  return element('li', {}, element('span', {}, path), size, element('code', {}, sha256));
}

function restOf(files: SetFiles['files'], list: HTMLElement): HTMLElement {
  const words = `Show all ${formatCount(files.length)} files`;
  const all = element('button', { type: 'button', class: 'screen' }, words);
  const rest = element('p', {}, `The first ${SHOWN_FILES} files are shown. `, all);
  all.addEventListener('click', () => {
    for (const file of files.slice(SHOWN_FILES)) list.append(itemOf(file));
    rest.remove();
  });
  return rest;
}
