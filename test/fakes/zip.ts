import { deflateRawSync } from 'node:zlib'

/** A file of an archive, and the lies that a test wants told about it. */
export interface ZipFile {
  readonly name: string | Uint8Array
  readonly text?: string
  readonly isStored?: boolean
  readonly sizeBytes?: number
  readonly packedBytes?: number
  readonly crc?: number
  readonly flags?: number
  readonly method?: number
  /** Unix mode, kind included. */
  readonly mode?: number
  readonly extra?: Uint8Array
  /** As the entry's own header has it, where the directory says otherwise. */
  readonly localName?: string
  readonly localSizeBytes?: number
  /** Where the directory says it is, instead of where it is. */
  readonly offset?: number
  readonly hasDescriptor?: boolean
}

export interface ZipLies {
  readonly before?: Uint8Array
  readonly between?: Uint8Array
  readonly beforeDirectory?: Uint8Array
  readonly beforeEnd?: Uint8Array
  readonly after?: Uint8Array
  readonly comment?: Uint8Array
  readonly count?: number
  readonly countHere?: number
  readonly disk?: number
  readonly directorySize?: number
  readonly directoryStart?: number
}

const encoder = new TextEncoder()
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)

const numbers = (parts: readonly (readonly [value: number, bytes: 2 | 4])[]): Uint8Array => {
  const buffer = new Uint8Array(parts.reduce((sum, [, bytes]) => sum + bytes, 0))
  const view = new DataView(buffer.buffer)
  let at = 0
  for (const [value, bytes] of parts) {
    if (bytes === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += bytes
  }
  return buffer
}

export const joined = (parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

export function crcOf(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit += 1)
      value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  }
  return (value ^ 0xffffffff) >>> 0
}

interface Made {
  readonly local: Uint8Array
  readonly entry: (offset: number) => Uint8Array
}

function make(file: ZipFile): Made {
  const name = typeof file.name === 'string' ? bytesOf(file.name) : file.name
  const localName = file.localName === undefined ? name : bytesOf(file.localName)
  const plain = bytesOf(file.text ?? '')
  const isStored = file.isStored ?? plain.byteLength === 0
  const packed = isStored ? plain : new Uint8Array(deflateRawSync(plain))
  const flags = (file.flags ?? 0x800) | (file.hasDescriptor ? 8 : 0)
  const method = file.method ?? (isStored ? 0 : 8)
  const crc = file.crc ?? crcOf(plain)
  const size = file.sizeBytes ?? plain.byteLength
  const packedBytes = file.packedBytes ?? packed.byteLength
  const extra = file.extra ?? new Uint8Array()
  const isLater = file.hasDescriptor === true
  const local = joined([
    numbers([
      [0x04034b50, 4],
      [20, 2],
      [flags, 2],
      [method, 2],
      [0, 4],
      [isLater ? 0 : crc, 4],
      [isLater ? 0 : packedBytes, 4],
      [isLater ? 0 : (file.localSizeBytes ?? size), 4],
      [localName.byteLength, 2],
      [0, 2],
    ]),
    localName,
    packed,
    ...(isLater
      ? [
          numbers([
            [0x08074b50, 4],
            [crc, 4],
            [packedBytes, 4],
            [size, 4],
          ]),
        ]
      : []),
  ])
  const entry = (offset: number) =>
    joined([
      numbers([
        [0x02014b50, 4],
        [0x0314, 2],
        [20, 2],
        [flags, 2],
        [method, 2],
        [0, 4],
        [crc, 4],
        [packedBytes, 4],
        [size, 4],
        [name.byteLength, 2],
        [extra.byteLength, 2],
        [0, 2],
        [0, 2],
        [0, 2],
        [((file.mode ?? 0o100644) << 16) >>> 0, 4],
        [file.offset ?? offset, 4],
      ]),
      name,
      extra,
    ])
  return { local, entry }
}

/** A zip as its tools would write it, unless a test wants it otherwise. */
export function zip(files: readonly ZipFile[], lies: ZipLies = {}): Uint8Array<ArrayBuffer> {
  const made = files.map(make)
  const locals: Uint8Array[] = [lies.before ?? new Uint8Array()]
  const entries: Uint8Array[] = []
  let offset = lies.before?.byteLength ?? 0
  for (const [index, { local, entry }] of made.entries()) {
    if (index === 1 && lies.between) {
      locals.push(lies.between)
      offset += lies.between.byteLength
    }
    locals.push(local)
    entries.push(entry(offset))
    offset += local.byteLength
  }
  const gap = lies.beforeDirectory ?? new Uint8Array()
  const directory = joined(entries)
  const comment = lies.comment ?? new Uint8Array()
  const end = numbers([
    [0x06054b50, 4],
    [lies.disk ?? 0, 2],
    [lies.disk ?? 0, 2],
    [lies.countHere ?? lies.count ?? files.length, 2],
    [lies.count ?? files.length, 2],
    [lies.directorySize ?? directory.byteLength, 4],
    [lies.directoryStart ?? offset + gap.byteLength, 4],
    [comment.byteLength, 2],
  ])
  return joined([
    ...locals,
    gap,
    directory,
    lies.beforeEnd ?? new Uint8Array(),
    end,
    comment,
    lies.after ?? new Uint8Array(),
  ])
}

/** Name and contents, as most tests want them. */
export const zipOf = (files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> =>
  zip(Object.entries(files).map(([name, text]) => ({ name, text })))
