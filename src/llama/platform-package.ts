/**
 * Finds the folder of prebuilt native libraries: the `@node-llama-cpp` package of this platform, or
 * one of its GPU variants when it is asked for.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const accelerators = ["cpu", "cuda", "vulkan", "metal"] as const;
/** What computes: `cpu` is the default, the others need the package of that name. */
export type Accelerator = (typeof accelerators)[number];

/** The npm release whose libraries our layouts describe. */
export const packageVersion = "3.21.1";

const packageScope = "@node-llama-cpp";

/** Package of each platform, by `process.platform`, `process.arch` and accelerator. */
const packageNames: Readonly<Record<string, Partial<Record<Accelerator, string>>>> = {
  "linux-x64": { cpu: "linux-x64", cuda: "linux-x64-cuda", vulkan: "linux-x64-vulkan" },
  "linux-arm64": { cpu: "linux-arm64" },
  "darwin-arm64": { cpu: "mac-arm64-metal", metal: "mac-arm64-metal" },
  "darwin-x64": { cpu: "mac-x64" },
  "win32-x64": { cpu: "win-x64", cuda: "win-x64-cuda", vulkan: "win-x64-vulkan" },
  "win32-arm64": { cpu: "win-arm64" },
};

/** The native libraries cannot be found or opened; the message is one sentence for the user. */
export class LibraryError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "LibraryError";
  }
}

export interface NativeFiles {
  /** The folder that holds them; the compute backends lie beside. */
  readonly folder: string;
  /** libggml-base, libggml, libllama: in the order in which they have to be opened. */
  readonly ggmlBase: string;
  readonly ggml: string;
  readonly llama: string;
  /** Where backends for other driver generations lie; used when `folder` has no fitting one. */
  readonly fallbackFolders: readonly string[];
}

/** Full package name; throws a LibraryError when none is made for the platform. */
export function packageNameFor(
  platform: string,
  architecture: string,
  accelerator: Accelerator,
): string {
  const names = packageNames[`${platform}-${architecture}`];
  const name = names?.[accelerator];
  if (name !== undefined) return `${packageScope}/${name}`;
  if (names === undefined) {
    throw new LibraryError(
      `The embedded engine has no native library for ${platform} on ${architecture}.`,
    );
  }
  const offered = Object.keys(names).join(", ");
  throw new LibraryError(
    `There is no ${accelerator} library for ${platform} on ${architecture}; available: ${offered}.`,
  );
}

/** Which platform, and where packages are looked for: the process's own unless told. */
export interface PackageSearch {
  readonly platform?: string;
  readonly architecture?: string;
  /** `node_modules` folders, the first that has a package wins. */
  readonly folders?: readonly string[];
}

const gpus = { cuda: "NVIDIA", vulkan: "any other", metal: "Apple" } as const;

/**
 * What computes when so many layers are to be a GPU's work: the CPU alone for 0, else the first of
 * Metal, CUDA and Vulkan whose package is installed. Throws a LibraryError that names the package
 * to install.
 */
export function chooseAccelerator(gpuLayers: number, search: PackageSearch = {}): Accelerator {
  if (gpuLayers === 0) return "cpu";
  const { platform = process.platform, architecture = process.arch } = search;
  const names = packageNames[`${platform}-${architecture}`] ?? {};
  const offered = (["metal", "cuda", "vulkan"] as const).filter((gpu) => names[gpu] !== undefined);
  const installed = offered.find(
    (gpu) => findPackageFolder(packageNameFor(platform, architecture, gpu), search) !== undefined,
  );
  if (installed !== undefined) return installed;
  if (offered.length === 0) {
    throw new LibraryError(
      `--gpu-layers ${gpuLayers}: there is no GPU library for ${platform} on ${architecture}; use 0.`,
    );
  }
  const commands = offered.map((gpu) => {
    const name = packageNameFor(platform, architecture, gpu);
    return `npm install ${name}@${packageVersion} (${gpus[gpu]} GPU)`;
  });
  throw new LibraryError(
    `--gpu-layers ${gpuLayers} needs a library for a GPU, and none is installed; run: ` +
      `${commands.join(" or ")}.`,
  );
}

/** Locates the native libraries for this process; throws a LibraryError. */
export function findNativeFiles(accelerator: Accelerator): NativeFiles {
  const name = packageNameFor(process.platform, process.arch, accelerator);
  const folder = findPackageFolder(name);
  if (folder === undefined) {
    throw new LibraryError(
      `The native library package ${name} is not installed; run: npm install ` +
        `${name}@${packageVersion}`,
    );
  }
  const version = installedVersion(folder);
  if (version !== packageVersion) {
    throw new LibraryError(
      `The native library package ${name} is version ${version}, but ${packageVersion} is needed; ` +
        `run: npm install ${name}@${packageVersion}`,
    );
  }
  const files = nativeFilesIn(join(folder, "bins", name.slice(packageScope.length + 1)), name);
  const extra = findPackageFolder(`${name}-ext`);
  return { ...files, fallbackFolders: extra === undefined ? [] : fallbacksIn(join(extra, "bins")) };
}

/**
 * The folder of an installed package. Looks where Node would look, but for the folder itself: the
 * packages' `exports` hide their package.json from `require.resolve`.
 */
function findPackageFolder(name: string, { folders }: PackageSearch = {}): string | undefined {
  const searched = folders ?? createRequire(import.meta.url).resolve.paths(name) ?? [];
  return searched
    .map((folder) => join(folder, name))
    .find((folder) => existsSync(join(folder, "package.json")));
}

function installedVersion(folder: string): string {
  const description: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const named = typeof description === "object" && description !== null ? description : {};
  return "version" in named ? String(named.version) : "unknown";
}

/** Names carry the release and sometimes the accelerator: `libllama.metal.v0.4.0.dylib`. */
function nativeFilesIn(folder: string, packageName: string): NativeFiles {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const find = (stem: string): string => {
    const pattern = new RegExp(`^(?:lib)?${stem}(?:\\.[a-z0-9]+)*\\.(?:so|dylib|dll)$`);
    const found = names.find((name) => pattern.test(name));
    if (found !== undefined) return join(folder, found);
    throw new LibraryError(
      `The native library package ${packageName} is incomplete: its ${stem} library is missing; ` +
        "install it again.",
    );
  };
  return {
    folder,
    ggmlBase: find("ggml-base"),
    ggml: find("ggml"),
    llama: find("llama"),
    fallbackFolders: [],
  };
}

/** The `-ext` packages of CUDA hold builds for other driver generations in `fallback` folders. */
function fallbacksIn(bins: string): readonly string[] {
  if (!existsSync(bins)) return [];
  return readdirSync(bins)
    .map((name) => join(bins, name, "fallback"))
    .filter((folder) => existsSync(folder));
}
