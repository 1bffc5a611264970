/** sha-256 over length-prefixed parts, so that no two sets of files hash alike; as of the skills that ship. */
export const hashOfFiles = (
  files: Readonly<Record<string, string>>,
  sha256: (text: string) => string,
): string => {
  const encoder = new TextEncoder()
  const parts = Object.keys(files)
    .toSorted()
    .map((path) => `${path.length}:${path}${encoder.encode(files[path]).length}:${files[path]}`)
  return sha256(parts.join(''))
}
