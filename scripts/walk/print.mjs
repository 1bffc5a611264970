// The tables of npm run walk.

const titles = {
  chat: 'A chat message with one tool call into an isolate, which fetches once',
  tool: 'The tool call alone',
  schedule: 'The firing of a schedule, one model turn',
}

const definition = `file      a file of src/ of which a function was entered between the request's arrival and the end of its answer
          (of a schedule: from its alarm until nothing runs any more); the server had done the same once before;
          modules that run in an isolate are among them, and cross no border
border    a line of one room that calls a function of another room, counted once however often it runs; calls through
          a package's function or an await are followed to the caller, a call that the platform makes is none
change    the files in the order in which each is first entered: one for each that lies in another room than the last
lines     of those files, comments and blank lines counted
room      src/<layer>/<room>/, or src/<room>/ outside the layers; files beside the folders are of the room src`

/** @param walks What `count` of scripts/walk/measure.ts gives, by name. */
export function printWalks(walks, { json, paths }) {
  if (json) return console.log(JSON.stringify(walks, null, 2))
  for (const [name, walk] of Object.entries(walks)) {
    console.log(
      `${titles[name]}\n  ${walk.files} files, ${walk.borders} borders, ${walk.lines} lines ` +
        `(${walk.changes} changes of room, ${walk.pairs} pairs of rooms, ${walk.crossings} calls over a ` +
        `border, ${walk.functions} functions)\n`,
    )
    console.log(rowOf(['room', 'files', 'borders', 'lines']))
    for (const { room, files, borders, lines } of walk.rooms)
      console.log(rowOf([room, files, borders, lines]))
    if (paths) console.log(`\n${walk.paths.map((path) => `  ${path}`).join('\n')}`)
    console.log()
  }
  console.log(definition)
}

const rowOf = ([name, ...cells]) =>
  `  ${name.padEnd(28)}${cells.map((cell) => String(cell).padStart(9)).join('')}`
