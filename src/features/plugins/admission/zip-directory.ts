import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'
import { checkDistinct, checkPath, quoted, refused } from './archive-paths.ts'

/** A file as the archive's directory lists it: checked, not unpacked. */
export interface ZipEntry {
  readonly path: string
  readonly isDeflated: boolean
  readonly crc: number
  readonly sizeBytes: number
  /** Offsets of the entry's bytes in the archive. */
  readonly start: number
  readonly end: number
}

const localSignature = 0x04034b50
const entrySignature = 0x02014b50
const endSignature = 0x06054b50
const zip64LocatorSignature = 0x07064b50
const descriptorSignature = 0x08074b50
const endBytes = 22
const entryBytes = 46
const localBytes = 30
const maxCommentBytes = 0xffff
/** Size limits of an archive. */
export interface ArchiveCaps {
  readonly maxArchiveBytes: number
  readonly maxUnpackedBytes: number
  readonly maxFiles: number
}

/** An entry, with the range of the archive that it occupies. */
interface Placed extends ZipEntry {
  readonly isFolder: boolean
  readonly from: number
  readonly hasDescriptor: boolean
}

/**
 * Reads the directory of a zip before anything is unpacked. Refuses an archive that two readers could read
 * differently: each byte must belong to one entry, the directory or its end (APPNOTE.TXT 6.3.10).
 *
 * @returns The files; folders are left out.
 */
export function readZipDirectory(
  bytes: Uint8Array,
  { maxFiles, maxUnpackedBytes }: ArchiveCaps = bundleCaps,
): readonly ZipEntry[] {
  // Folders have entries of their own.
  const maxEntries = 2 * maxFiles
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = findEnd(view)
  const count = view.getUint16(end + 10, true)
  const size = view.getUint32(end + 12, true)
  const start = view.getUint32(end + 16, true)
  if (view.getUint16(end + 4, true) !== 0 || view.getUint16(end + 6, true) !== 0)
    throw refused('The archive is one of several parts.')
  if (isZip64(view, end) || count === 0xffff || size === 0xffffffff || start === 0xffffffff)
    throw refused('The archive is a zip64 archive; a plugin needs none.')
  if (view.getUint16(end + 8, true) !== count)
    throw refused('The archive contradicts itself on how many entries it has.')
  if (count > maxEntries) throw refused(`The archive has more than ${maxEntries} entries.`)
  if (start + size !== end)
    throw refused('The directory of the archive is not where it says: something is hidden there.')
  const entries = readEntries(view, { start, end, count })
  checkCovered(view, entries, start)
  const files = entries.filter(({ isFolder }) => !isFolder)
  if (files.length > maxFiles) throw refused(`The archive has more than ${maxFiles} files.`)
  checkDistinct(files.map(({ path }) => path))
  const unpacked = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (unpacked > maxUnpackedBytes)
    throw refused(`The archive is larger than ${maxUnpackedBytes} bytes unpacked.`)
  return files
}

/**
 * Finds the only end of the directory. A comment that looks like another end would let two readers see two archives.
 */
function findEnd(view: DataView): number {
  const ends: number[] = []
  const first = Math.max(0, view.byteLength - endBytes - maxCommentBytes)
  for (let at = view.byteLength - endBytes; at >= first; at -= 1) {
    if (view.getUint32(at, true) !== endSignature) continue
    if (at + endBytes + view.getUint16(at + 20, true) === view.byteLength) ends.push(at)
  }
  const [end, other] = ends
  if (end === undefined)
    throw refused('This is not a zip archive, or it is cut off, or something follows it.')
  if (other !== undefined) throw refused('The archive has two ends.')
  return end
}

const isZip64 = (view: DataView, end: number): boolean =>
  end >= 20 && view.getUint32(end - 20, true) === zip64LocatorSignature

function readEntries(
  view: DataView,
  { start, end, count }: { readonly start: number; readonly end: number; readonly count: number },
): readonly Placed[] {
  const entries: Placed[] = []
  let at = start
  for (let index = 0; index < count; index += 1) {
    if (at + entryBytes > end || view.getUint32(at, true) !== entrySignature) throw broken()
    const nameLength = view.getUint16(at + 28, true)
    const extraLength = view.getUint16(at + 30, true)
    const next = at + entryBytes + nameLength + extraLength + view.getUint16(at + 32, true)
    if (next > end) throw broken()
    entries.push(readEntry(view, { at, nameLength, extraLength, directory: start }))
    at = next
  }
  if (at !== end) throw refused('The archive has more entries than it says.')
  return entries
}

const broken = () => refused('The directory of the archive cannot be read.')

interface EntryPlace {
  readonly at: number
  readonly nameLength: number
  readonly extraLength: number
  readonly directory: number
}

function readEntry(view: DataView, place: EntryPlace): Placed {
  const { at, nameLength, extraLength, directory } = place
  const name = readName(view, at + entryBytes, nameLength)
  const isFolder = name.endsWith('/')
  const path = isFolder ? name.slice(0, -1) : name
  checkPath(path)
  const flags = view.getUint16(at + 8, true)
  const method = view.getUint16(at + 10, true)
  const sizeBytes = view.getUint32(at + 24, true)
  const packedBytes = view.getUint32(at + 20, true)
  const from = view.getUint32(at + 42, true)
  // Encrypted, strongly encrypted, or with a masked directory.
  if ((flags & 0x2041) !== 0) throw refused(`${quoted(path)} is encrypted.`)
  if (method !== 0 && method !== 8)
    throw refused(`${quoted(path)} is packed in a way that is not supported: use deflate.`)
  checkKind(view, at, { path, isFolder })
  checkExtra(view, { from: at + entryBytes + nameLength, length: extraLength, path })
  if (view.getUint16(at + 34, true) !== 0) throw refused(`${quoted(path)} is in another part.`)
  if (isFolder ? sizeBytes !== 0 : method === 0 && sizeBytes !== packedBytes)
    throw refused(`${quoted(path)} has a size that cannot be.`)
  if (sizeBytes > bundleCaps.maxUnpackedBytes)
    throw refused(`${quoted(path)} is larger than ${bundleCaps.maxUnpackedBytes} bytes.`)
  if (from + localBytes > directory || view.getUint32(from, true) !== localSignature)
    throw refused(`${quoted(path)} is not where the directory says.`)
  const start = checkLocal(view, { at, from, path, nameLength })
  const end = start + packedBytes
  if (end > directory) throw refused(`${quoted(path)} reaches into the directory.`)
  const hasDescriptor = (flags & 8) !== 0
  const crc = view.getUint32(at + 16, true)
  return {
    path,
    isFolder,
    isDeflated: method === 8,
    crc,
    sizeBytes,
    start,
    end,
    from,
    hasDescriptor,
  }
}

function readName(view: DataView, offset: number, length: number): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + offset, length)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw refused('A file name is not UTF-8: pack the archive anew, with names in UTF-8.', cause)
  }
}

/** The systems whose attributes state the kind of a file: Unix and macOS. */
const unixSystems: ReadonlySet<number> = new Set([3, 19])
const kinds = { regular: 8, folder: 4, unsaid: 0 } as const

/** Refuses links: a reader would follow one to another file. */
function checkKind(
  view: DataView,
  at: number,
  { path, isFolder }: { readonly path: string; readonly isFolder: boolean },
): void {
  const isUnix = unixSystems.has(view.getUint8(at + 5))
  const kind = isUnix ? view.getUint16(at + 40, true) >>> 12 : kinds.unsaid
  if (kind === kinds.unsaid || kind === (isFolder ? kinds.folder : kinds.regular)) return
  throw refused(`${quoted(path)} is a link or a special file: send the file itself.`)
}

/** Extra fields that give an entry another size or another name. */
const zip64Field = 0x0001
const unicodePathField = 0x7075

function checkExtra(
  view: DataView,
  { from, length, path }: { readonly from: number; readonly length: number; readonly path: string },
): void {
  for (let at = from; at + 4 <= from + length; at += 4 + view.getUint16(at + 2, true)) {
    const field = view.getUint16(at, true)
    if (field === zip64Field) throw refused(`${quoted(path)} has zip64 sizes.`)
    if (field === unicodePathField) throw refused(`${quoted(path)} has a second name.`)
  }
}

/** Checks that the entry's local header agrees with the directory. @returns Where its bytes begin. */
function checkLocal(
  view: DataView,
  {
    at,
    from,
    path,
    nameLength,
  }: {
    readonly at: number
    readonly from: number
    readonly path: string
    readonly nameLength: number
  },
): number {
  const hasDescriptor = (view.getUint16(at + 8, true) & 8) !== 0
  const start =
    from + localBytes + view.getUint16(from + 26, true) + view.getUint16(from + 28, true)
  const isSame =
    start <= view.byteLength &&
    view.getUint16(from + 26, true) === nameLength &&
    readName(view, from + localBytes, nameLength) === readName(view, at + entryBytes, nameLength) &&
    view.getUint16(from + 6, true) === view.getUint16(at + 8, true) &&
    view.getUint16(from + 8, true) === view.getUint16(at + 10, true) &&
    (hasDescriptor ||
      (view.getUint32(from + 18, true) === view.getUint32(at + 20, true) &&
        view.getUint32(from + 22, true) === view.getUint32(at + 24, true)))
  if (!isSame) throw refused(`${quoted(path)} is described in two ways.`)
  checkExtra(view, {
    from: from + localBytes + nameLength,
    length: view.getUint16(from + 28, true),
    path,
  })
  return start
}

/** Refuses bytes before, between or after the entries, and entries that share bytes (as the smallest bombs do). */
function checkCovered(view: DataView, entries: readonly Placed[], directory: number): void {
  let at = 0
  for (const entry of entries.toSorted((a, b) => a.from - b.from)) {
    if (entry.from < at) throw refused(`${quoted(entry.path)} shares bytes with another file.`)
    if (entry.from > at) throw hidden()
    at = entry.end
    if (!entry.hasDescriptor) continue
    const isSigned = at + 4 <= directory && view.getUint32(at, true) === descriptorSignature
    at += isSigned ? 16 : 12
  }
  if (at !== directory) throw hidden()
}

const hidden = () => refused('The archive has bytes that belong to no file.')
