/** sha-256 of bytes, as Agent Skills Discovery and SEP-2640 write it: `sha256:` and lowercase hex. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `sha256:${Array.from(hash, (one) => one.toString(16).padStart(2, '0')).join('')}`
}
