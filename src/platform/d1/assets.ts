/** The files that were uploaded with the Worker, in the form of its binding. */
interface AssetsBinding {
  readonly fetch: (url: string) => Promise<Response>
}

/** Reads a file that was uploaded with the Worker by its path, such as `/archive-reader.js`; 404 if there is none. */
export type ReadAsset = (path: string) => Promise<Response>

/** Nothing leaves: the binding answers from what was deployed, whatever the host. Absent where there is no binding. */
export const createReadAsset = (assets: AssetsBinding | undefined): ReadAsset | undefined =>
  assets && ((path) => assets.fetch(`https://assets${path}`))
