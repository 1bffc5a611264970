import { Gunzip } from 'fflate'
import { checkDistinct, checkPath, quoted, refused } from './archive-paths.ts'
import type { ArchiveCaps } from './zip-directory.ts'

const blockBytes = 512
/** Small enough that one step cannot unpack to a dangerous size. */
const stepBytes = 2_048

/**
 * The files of a .tar.gz by their path. Refuses entries that are not plain files, and headers that are inconsistent.
 * Throws `plugin_upload_invalid`.
 *
 * @see POSIX.1-2024, pax: ustar and extended headers
 */
export function untar(archive: Uint8Array, caps: ArchiveCaps): ReadonlyMap<string, Uint8Array> {
  const tar = gunzip(archive, caps.maxUnpackedBytes)
  const files: [string, Uint8Array][] = []
  let longPath: string | undefined
  for (let at = 0; at + blockBytes <= tar.length;) {
    const header = tar.subarray(at, at + blockBytes)
    if (header.every((byte) => byte === 0)) break
    checkSum(header)
    const sizeBytes = numberAt(header, 124, 12)
    const content = tar.subarray(at + blockBytes, at + blockBytes + sizeBytes)
    if (content.length !== sizeBytes) throw refused('The archive is cut off.')
    at += blockBytes + Math.ceil(sizeBytes / blockBytes) * blockBytes
    const type = String.fromCharCode(header[156] ?? 0)
    if (type === 'x') longPath = pathIn(textOf(content)) ?? longPath
    // A global header applies to the whole archive and mostly has a comment. None of its keys is read.
    if (type === 'x' || type === 'g') continue
    const path = longPath ?? nameIn(header)
    longPath = undefined
    if (type === '5') continue
    if (type !== '0' && type !== '\0') throw refused(`${quoted(path)} is a link, or no file.`)
    checkPath(path)
    files.push([path, content])
    if (files.length > caps.maxFiles)
      throw refused(`The archive has more than ${caps.maxFiles} files.`)
  }
  checkDistinct(files.map(([path]) => path))
  return new Map(files)
}

function gunzip(archive: Uint8Array, maxBytes: number): Uint8Array {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  const inflating = new Gunzip((chunk) => {
    sizeBytes += chunk.byteLength
    if (sizeBytes > maxBytes)
      throw refused(`The archive is larger than ${maxBytes} bytes unpacked.`)
    chunks.push(chunk)
  })
  try {
    for (let at = 0; at < archive.byteLength; at += stepBytes)
      inflating.push(archive.subarray(at, at + stepBytes), at + stepBytes >= archive.byteLength)
  } catch (error) {
    if (error instanceof Error && error.name === 'IsolaError') throw error
    throw refused('The archive cannot be unpacked.', error)
  }
  const whole = new Uint8Array(sizeBytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

const textOf = (bytes: Uint8Array): string => {
  const end = bytes.indexOf(0)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      end < 0 ? bytes : bytes.subarray(0, end),
    )
  } catch {
    throw refused('A name in the archive is not text in UTF-8.')
  }
}

function nameIn(header: Uint8Array): string {
  const [name, prefix] = [textOf(header.subarray(0, 100)), textOf(header.subarray(345, 500))]
  return prefix === '' ? name : `${prefix}/${name}`
}

function numberAt(header: Uint8Array, start: number, length: number): number {
  const text = textOf(header.subarray(start, start + length)).trim()
  if (!/^[0-7]*$/.test(text)) throw refused('The archive has a header that cannot be read.')
  return text === '' ? 0 : Number.parseInt(text, 8)
}

function checkSum(header: Uint8Array): void {
  // The checksum counts its own eight bytes as blanks.
  const sum = header.reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (sum !== numberAt(header, 148, 8)) throw refused('The archive is damaged.')
}

/** A record of an extended header: `27 path=a/long/name\n`, with the length of the whole record in front. */
function pathIn(records: string): string | undefined {
  return /^\d+ path=([^\n]*)\n/m.exec(records)?.[1]
}
