import { lazy, Suspense, useState } from 'react';
import type { ObjectView } from '../../../../shared/collection/view.ts';
import { ObjectText } from '../../components/content/object/ObjectText.tsx';
import { Facts } from '../../components/data/Facts.tsx';
import { exactBytes } from '../../format/size.ts';
import { DerivedContent } from './DerivedContent.tsx';
import classes from './ViewPage.module.css';
import { XmlContent } from './XmlContent.tsx';

const PdfPreview = lazy(() => import('../../components/content/preview/PdfPreview.tsx'));

/** An archived object that is not a page, shown as what it is. */
export function ObjectContent({ view }: { view: ObjectView }) {
  const { kind, sha256, content, file_name, final_url } = view;
  switch (kind) {
    case 'image':
      return <ArchivedImage key={content} address={content} name={file_name} />;
    case 'pdf':
      return (
        <div className={classes.stack}>
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <PdfPreview key={content} address={content} name={file_name} bytes={view.bytes} />
          </Suspense>
          <ObjectText sha256={sha256} />
        </div>
      );
    case 'feed':
    case 'xml':
      return <XmlContent key={content} address={content} base={final_url} sha256={sha256} />;
    case 'markdown':
    case 'csv':
    case 'json':
    case 'text':
      return <DerivedContent sha256={sha256} kind={kind} base={final_url} />;
    default:
      return <OtherObject view={view} />;
  }
}

function ArchivedImage({ address, name }: { address: string; name: string }) {
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken) return <p className="muted">This browser cannot show the image. Download it to open it.</p>;
  return <img className={classes.image} src={address} alt={name} onError={() => setIsBroken(true)} />;
}

function OtherObject({ view }: { view: ObjectView }) {
  return (
    <div className={classes.stack}>
      <p>There is no view for this type of file. Download it to open it.</p>
      <Facts
        facts={{
          'Content type': view.content_type ?? 'unknown',
          Size: exactBytes(view.bytes),
          'File name': view.file_name,
        }}
      />
    </div>
  );
}
