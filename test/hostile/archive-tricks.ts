import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'
import { folder } from '../fakes/uploads.ts'
import { bytesOf, joined, zip, zipOf, type ZipFile, type ZipLies } from '../fakes/zip.ts'

const files: readonly ZipFile[] = Object.entries(folder).map(([name, text]) => ({ name, text }))
const plus = (more: ZipFile, lies?: ZipLies) => zip([...files, more], lies)
const named = (name: string | Uint8Array) => plus({ name, text: 'x' })

/** An archive made by hand, and what its refusal says. */
export type Trick = readonly [name: string, archive: () => Uint8Array, message: RegExp]

const names: readonly Trick[] = [
  ['a path that leaves the folder', () => named('../../etc/passwd'), /leaves the folder/],
  ['one that leaves it later', () => named('a/b/../../../c'), /leaves the folder/],
  ['an absolute path', () => named('/etc/passwd'), /is absolute/],
  ['a path of a network share', () => named('//server/share'), /is absolute/],
  ['a backslash', () => named('..\\..\\windows'), /backslash/],
  ['a drive', () => named('C:/windows/system.ini'), /colon/],
  ['an alternate stream', () => named('main.js:hidden'), /colon/],
  ['a NUL', () => named('main.js\0.txt'), /control or invisible/],
  ['a line break', () => named('a\nb'), /control or invisible/],
  ['a direction override', () => named('a\u202Egpj.js'), /control or invisible/],
  ['a zero-width space', () => named('ma\u200Bin.js'), /control or invisible/],
  ['an empty part', () => named('a//b'), /empty part/],
  ['a dot as a part', () => named('./main.js'), /dot as a part/],
  ['no name', () => named(''), /is empty/],
  ['a name of blanks', () => named(' /x'), /blank/],
  ['a blank at the end', () => named('main.js '), /blank/],
  ['a dot at the end', () => named('main.js.'), /ends with a dot/],
  ['a path that is too long', () => named('x'.repeat(201)), /longer than 200/],
  ['a path that is too deep', () => named('a/'.repeat(11) + 'b'), /deeper than 10/],
  ['a name that is not UTF-8', () => named(new Uint8Array([0xff, 0xfe])), /not UTF-8/],
  ['the same name twice', () => named('main.js'), /two files "main\.js"/],
  ['a name in other case', () => named('MAIN.js'), /differ only in case/],
  [
    'a name in another Unicode form',
    () => zip([...files, { name: 'caf\u00E9' }, { name: 'cafe\u0301' }]),
    /Unicode form/,
  ],
  ['a name in wide letters', () => named('\uFF4D\uFF41\uFF49\uFF4E.js'), /Unicode form/],
  ['a file that is a folder too', () => named('main.js/more'), /file and a folder/],
]

const kinds: readonly Trick[] = [
  ['a symbolic link', () => plus({ name: 'link', text: '/etc/passwd', mode: 0o120777 }), /a link/],
  [
    'a link in place of the manifest',
    () => zip([{ name: 'plugin.yaml', text: '/etc/passwd', mode: 0o120777 }]),
    /a link/,
  ],
  ['a device', () => plus({ name: 'null', mode: 0o020666 }), /special file/],
  ['a pipe', () => plus({ name: 'pipe', mode: 0o010666 }), /special file/],
  ['an encrypted entry', () => plus({ name: 'a', text: 'x', flags: 0x801 }), /encrypted/],
  ['a strongly encrypted entry', () => plus({ name: 'a', text: 'x', flags: 0x840 }), /encrypted/],
  ['a masked directory', () => plus({ name: 'a', text: 'x', flags: 0x2800 }), /encrypted/],
  ['another method of packing', () => plus({ name: 'a', text: 'x', method: 12 }), /use deflate/],
  [
    'a second name in an extra field',
    () => plus({ name: 'a', text: 'x', extra: new Uint8Array([0x75, 0x70, 0, 0]) }),
    /second name/,
  ],
  [
    'zip64 sizes in an extra field',
    () => plus({ name: 'a', text: 'x', extra: new Uint8Array([1, 0, 0, 0]) }),
    /zip64/,
  ],
]

const sizes: readonly Trick[] = [
  [
    'more in an entry than it says',
    () => plus({ name: 'a', text: 'x'.repeat(9_000), sizeBytes: 10 }),
    /not of the size/,
  ],
  [
    'less in an entry than it says',
    () => plus({ name: 'a', text: 'x', sizeBytes: 10_000, isStored: false }),
    /not of the size/,
  ],
  [
    'a stored entry of two sizes',
    () => plus({ name: 'a', text: 'x', isStored: true, sizeBytes: 2 }),
    /cannot be/,
  ],
  [
    'a folder with contents',
    () => plus({ name: 'a/', text: 'x', isStored: true, mode: 0o40755 }),
    /cannot be/,
  ],
  [
    'a bomb of one file',
    () => plus({ name: 'a', crc: 0, text: 'x'.repeat(bundleCaps.maxUnpackedBytes + 1) }),
    /larger than 8388608/,
  ],
  [
    'a bomb of many files',
    () =>
      zip([
        ...files,
        ...Array.from({ length: 100 }, (_unused, index) => ({
          name: `f${index}`,
          crc: 0,
          text: 'x'.repeat(90_000),
        })),
      ]),
    /larger than 8388608 bytes unpacked/,
  ],
  [
    'a bomb that says it is small',
    () => plus({ name: 'a', text: 'x'.repeat(9_000_000), crc: 0, sizeBytes: 100 }),
    /not of the size/,
  ],
  [
    'too many files',
    () =>
      zip([...files, ...Array.from({ length: 201 }, (_unused, index) => ({ name: `f${index}` }))]),
    /more than 200 files/,
  ],
  [
    'too many entries',
    () =>
      zip(Array.from({ length: 500 }, (_unused, index) => ({ name: `f${index}/`, mode: 0o40755 }))),
    /more than 400 entries/,
  ],
  [
    'an archive that is too large',
    () =>
      plus(
        { name: 'a', text: '' },
        { comment: new Uint8Array(), before: new Uint8Array(bundleCaps.maxArchiveBytes) },
      ),
    /larger than 4194304/,
  ],
  ['a checksum that is wrong', () => plus({ name: 'a', text: 'x', crc: 7 }), /damaged/],
  [
    'packed bytes that are none',
    () => plus({ name: 'a', text: '\xff'.repeat(20), isStored: true, method: 8 }),
    /cannot be unpacked|not of the size|damaged/,
  ],
]

/**
 * Well-formed for a reader that begins at the last end record; the first end record, in a stored file, has all the
 * rest as its comment.
 */
function twoEnds(): Uint8Array<ArrayBuffer> {
  const end = (commentBytes: number) =>
    `PK\x05\x06${'\0'.repeat(16)}${String.fromCharCode(commentBytes & 255, commentBytes >> 8)}`
  for (let padding = 0; ; padding += 1) {
    const archive = (commentBytes: number) =>
      plus({ name: 'a', text: end(commentBytes) + ' '.repeat(padding), isStored: true })
    const bytes = archive(0)
    const at = Buffer.from(bytes).indexOf('PK\x05\x06')
    const commentBytes = bytes.byteLength - at - 22
    // As text a byte of the count must be ASCII.
    if ((commentBytes & 255) < 128) return archive(commentBytes)
  }
}

const structure: readonly Trick[] = [
  ['an empty file', () => new Uint8Array(), /not a zip/],
  ['something that is no zip', () => bytesOf('MZ this is a program'), /not a zip/],
  ['half an archive', () => zipOf(folder).slice(0, 300), /not a zip/],
  [
    'a program before the entries',
    () => plus({ name: 'a' }, { before: bytesOf('#!/bin/sh') }),
    /bytes that belong to no file/,
  ],
  [
    'bytes between the entries',
    () => plus({ name: 'a' }, { between: bytesOf('hidden') }),
    /bytes that belong to no file/,
  ],
  [
    'bytes before the directory',
    () => plus({ name: 'a' }, { beforeDirectory: bytesOf('hidden') }),
    /bytes that belong to no file/,
  ],
  [
    'bytes after the directory',
    () => plus({ name: 'a' }, { beforeEnd: bytesOf('hidden') }),
    /hidden there/,
  ],
  [
    'bytes after the end',
    () => plus({ name: 'a' }, { after: bytesOf('hidden') }),
    /something follows it/,
  ],
  [
    'an archive in the comment',
    () => plus({ name: 'a' }, { comment: zipOf({ 'plugin.yaml': 'id: other' }) }),
    /two ends|hidden there/,
  ],
  ['a second end inside a file', () => twoEnds(), /two ends/],
  [
    'another archive behind it',
    () => joined([zipOf(folder), zipOf({ 'plugin.yaml': 'id: other' })]),
    /hidden there|not where/,
  ],
  [
    'an entry that the directory leaves out',
    () => plus({ name: 'a', text: 'x' }, { count: files.length, directorySize: 1 }),
    /hidden there/,
  ],
  [
    'fewer entries than there are',
    () => plus({ name: 'a' }, { count: files.length }),
    /more entries than it says/,
  ],
  [
    'more entries than there are',
    () => plus({ name: 'a' }, { count: files.length + 2 }),
    /cannot be read/,
  ],
  ['two counts', () => plus({ name: 'a' }, { countHere: 1 }), /contradicts itself/],
  ['an archive of several parts', () => plus({ name: 'a' }, { disk: 1 }), /several parts/],
  ['a directory elsewhere', () => plus({ name: 'a' }, { directoryStart: 0 }), /hidden there/],
  ['zip64 markers', () => plus({ name: 'a' }, { directoryStart: 0xffffffff }), /zip64/],
  [
    'two names for one entry',
    () => plus({ name: 'a.txt', localName: 'b.txt', text: 'x' }),
    /two ways/,
  ],
  ['two sizes for one entry', () => plus({ name: 'a', text: 'x', localSizeBytes: 5 }), /two ways/],
  [
    'two entries that share their bytes',
    () => plus({ name: 'plugin.yaml2', text: folder['plugin.yaml'], offset: 0 }),
    /two ways|shares bytes/,
  ],
  [
    'an entry that is not there',
    () => plus({ name: 'a', text: 'x', offset: 7 }),
    /not where the directory says/,
  ],
  [
    'an entry that reaches into the directory',
    () => plus({ name: 'a', text: 'x', packedBytes: 9_000, isStored: false }),
    /reaches into the directory/,
  ],
]

const contents: readonly Trick[] = [
  ['no plugin.yaml', () => zipOf({ 'main.js': 'x' }), /no plugin\.yaml/],
  [
    'plugin.yaml below two folders',
    () => zipOf({ 'a/b/plugin.yaml': 'id: x', 'c/d': 'x' }),
    /no plugin\.yaml/,
  ],
  [
    'no entry module',
    () => zipOf({ 'plugin.yaml': folder['plugin.yaml'] }),
    /entrypoint: there is no file/,
  ],
  [
    'an entry module elsewhere',
    () =>
      zipOf({ ...folder, 'plugin.yaml': folder['plugin.yaml'].replace('main.js', '../main.js') }),
    /leaves the folder/,
  ],
  [
    'an entry that is no module',
    () =>
      zipOf({
        ...folder,
        'main.wasm': 'x',
        'plugin.yaml': folder['plugin.yaml'].replace('main.js', 'main.wasm'),
      }),
    /neither \.js nor \.mjs/,
  ],
]

/** Every one of them, by what it is about. */
export const tricks: readonly (readonly [group: string, tricks: readonly Trick[]])[] = [
  ['names', names],
  ['kinds of entries', kinds],
  ['sizes', sizes],
  ['the structure', structure],
  ['contents', contents],
]
