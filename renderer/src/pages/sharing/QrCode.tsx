import { renderSVG } from 'uqr';

export interface QrCodeProps {
  text: string;
  /** What the code leads to, for those who cannot see it. */
  label: string;
  className?: string;
}

/** A text as a QR code, dark on light by day and by night because many cameras read nothing else. */
export function QrCode({ text, label, className }: QrCodeProps) {
  const svg = renderSVG(text, { ecc: 'M', border: 3 });
  return <img src={`data:image/svg+xml,${encodeURIComponent(svg)}`} alt={label} className={className} />;
}
