import { Inflate } from 'fflate'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'
import { quoted, refused } from './archive-paths.ts'
import { readZipDirectory, type ArchiveCaps, type ZipEntry } from './zip-directory.ts'

/** Small enough that one step cannot unpack to a dangerous size (at most a thousand times as much). */
const stepBytes = 2_048

/**
 * The files of a zip by their path, without the files that macOS adds. Throws `plugin_upload_invalid`.
 */
export function unzip(
  archive: Uint8Array,
  caps: ArchiveCaps = bundleCaps,
): ReadonlyMap<string, Uint8Array> {
  if (archive.byteLength > caps.maxArchiveBytes)
    throw refused(`The archive is larger than ${caps.maxArchiveBytes} bytes.`)
  const entries = readZipDirectory(archive, caps).filter(({ path }) => !isLitter(path))
  return new Map(entries.map((entry) => [entry.path, unpack(archive, entry)] as const))
}

const isLitter = (path: string): boolean => /(^|\/)(__MACOSX\/|\.DS_Store$)/.test(path)

/** Removes the single folder around all files, which archives of repositories have. */
export function withoutTop<T>(
  files: readonly (readonly [string, T])[],
): readonly (readonly [string, T])[] {
  const [top = ''] = files[0]?.[0].split('/') ?? []
  const isCommon = files.length > 0 && files.every(([path]) => path.startsWith(`${top}/`))
  return isCommon ? files.map(([path, file]) => [path.slice(top.length + 1), file] as const) : files
}

/** Unpacks one entry and counts its bytes: an entry with a wrong size is refused. */
function unpack(archive: Uint8Array, entry: ZipEntry): Uint8Array {
  const packed = archive.subarray(entry.start, entry.end)
  const bytes = entry.isDeflated ? inflate(packed, entry) : packed
  if (bytes.byteLength !== entry.sizeBytes) throw lies(entry)
  if (crc32(bytes) !== entry.crc) throw refused(`${quoted(entry.path)} is damaged.`)
  return bytes
}

const lies = ({ path }: ZipEntry) => refused(`${quoted(path)} is not of the size that it says.`)

function inflate(packed: Uint8Array, entry: ZipEntry): Uint8Array {
  const whole = new Uint8Array(entry.sizeBytes)
  let sizeBytes = 0
  const inflating = new Inflate((chunk) => {
    if (sizeBytes + chunk.byteLength > entry.sizeBytes) throw lies(entry)
    whole.set(chunk, sizeBytes)
    sizeBytes += chunk.byteLength
  })
  try {
    for (let at = 0; at < packed.byteLength; at += stepBytes)
      inflating.push(packed.subarray(at, at + stepBytes), at + stepBytes >= packed.byteLength)
  } catch (error) {
    if (error instanceof Error && error.name === 'IsolaError') throw error
    throw refused(`${quoted(entry.path)} cannot be unpacked.`, error)
  }
  return sizeBytes === whole.byteLength ? whole : whole.subarray(0, sizeBytes)
}

const table = Uint32Array.from({ length: 256 }, (_unused, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}
