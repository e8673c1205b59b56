'use strict';
/* What the verification of a page computes with: digests, base64 and canonical JSON. */

/** @param {Uint8Array} bytes */
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
/** @param {Uint8Array[]} parts */
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), new Sha256()).digest();
/** @param {string} text */
const utf8 = (text) => new TextEncoder().encode(text);
/** @param {string} text */
const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Canonical JSON (RFC 8785). @param {unknown} value @returns {string} */
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = /** @type {Record<string, unknown>} */ (value);
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(',')}}`;
};

// The other scripts of a page use them.
Object.assign(globalThis, { hex, sha256, utf8, fromBase64, canonical });
