/** A file as it stands in an archive. */
export interface ZipFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** Text is text in UTF-8 (bit 11), of the first day that the format knows: the same files are the same bytes. */
const flags = 0x0800
const date = 0x0021

/** A zip of files as they are, uncompressed: no library, and no runtime whose compression may change. */
export function storedZip(files: readonly ZipFile[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  const crc = createCrc32()
  let offset = 0
  for (const { path, bytes } of files) {
    const name = new TextEncoder().encode(path)
    // From the version that is needed to the lengths of name and extra field: the same in both headers.
    const about = [u16(20), u16(flags), u16(0), u16(0), u16(date), u32(crc(bytes))]
    about.push(u32(bytes.length), u32(bytes.length), u16(name.length), u16(0))
    const local = joined([u32(0x04034b50), ...about, name])
    directory.push(u32(0x02014b50), u16(20), ...about)
    // No comment, first disk, no attributes.
    directory.push(u16(0), u16(0), u16(0), u32(0), u32(offset), name)
    parts.push(local, bytes)
    offset += local.length + bytes.length
  }
  const central = joined(directory)
  const count = u16(files.length)
  const end = [u32(0x06054b50), u16(0), u16(0), count, count, u32(central.length), u32(offset)]
  return joined([...parts, central, ...end, u16(0)])
}

const u16 = (value: number): Uint8Array => Uint8Array.of(value, value >>> 8)
const u32 = (value: number): Uint8Array =>
  Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24)

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The checksum that the format wants, by its table. */
function createCrc32(): (bytes: Uint8Array) => number {
  const table = Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0)
    return value
  })
  return (bytes) => {
    let value = 0xffff_ffff
    for (const byte of bytes) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] ?? 0)
    return ~value >>> 0
  }
}
