import { renderSVG } from 'uqr';

export interface QrCodeProps {
  text: string;
  /** The target, for screen readers. */
  label: string;
  className?: string;
}

/** A QR code, dark on light in both themes because many cameras read nothing else. */
export function QrCode({ text, label, className }: QrCodeProps) {
  const svg = renderSVG(text, { ecc: 'M', border: 3 });
  return <img src={`data:image/svg+xml,${encodeURIComponent(svg)}`} alt={label} className={className} />;
}
