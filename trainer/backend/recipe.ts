/** Which packages make the TensorFlow backend, pinned by digest? Sizes are for telling a person, in bytes. */

export interface NpmArchive {
  name: string;
  version: string;
  /** `sha512-…`, as the registry gives it. */
  integrity: string;
}

export interface Wheel {
  name: string;
  version: string;
  file: string;
  sha256: string;
}

export interface Recipe {
  /** Names the folder; another recipe never finds this one's build. */
  id: string;
  archives: { tfjsNode: NpmArchive; headers: NpmArchive; protobuf: NpmArchive };
  /** The first holds the libraries; the others, CUDA's. */
  wheels: readonly Wheel[];
  /** What pip is told, so that the wheel does not depend on the Python that downloads it. */
  platforms: readonly string[];
  downloadBytes: number;
  diskBytes: number;
}

export type Variant = "cpu" | "gpu";

const archives = {
  tfjsNode: {
    name: "@tensorflow/tfjs-node",
    version: "4.22.0",
    integrity: "sha512-uHrXeUlfgkMxTZqHkESSV7zSdKdV0LlsBeblqkuKU9nnfxB1pC6DtoyYVaLxznzZy7WQSegjcohxxCjAf6Dc7w==",
  },
  headers: {
    name: "node-api-headers",
    version: "1.5.0",
    integrity: "sha512-Yi/FgnN8IU/Cd6KeLxyHkylBUvDTsSScT0Tna2zTrz8klmc8qF2ppj6Q1LHsmOueJWhigQwR4cO2p0XBGW5IaQ==",
  },
  protobuf: {
    name: "google-protobuf",
    version: "3.21.4",
    integrity: "sha512-MnG7N936zcKTco4Jd2PX2U96Kf9PxygAPKBug+74LHzmHXmceN16MmRcdgZv+DGef/S9YvQAfRsNCn4cjf9yyQ==",
  },
} as const;

// Those of the GPU are estimates: that variant was read, not run.
const cpuBytes = { downloadBytes: 275e6, diskBytes: 650e6 };
const gpuBytes = { downloadBytes: 3.2e9, diskBytes: 7e9 };

const tensorflow = "2.21.0";
const x64 = "manylinux_2_27_x86_64";
const arm64 = "manylinux_2_27_aarch64";

/** What TensorFlow's `and-cuda` extra asks for: name, version, platform, SHA-256. It needs a driver on the machine. */
const cuda = `
nvidia-cublas-cu12 12.9.3.13 manylinux_2_27_x86_64 d7d51055f161b317c7105ddaae90e71eda059026074ffef93cf7cde2886bfe72
nvidia-cuda-cupti-cu12 12.8.90 manylinux2014_x86_64.manylinux_2_17_x86_64 ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182
nvidia-cuda-nvcc-cu12 12.9.86 manylinux2010_x86_64.manylinux_2_12_x86_64 5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0
nvidia-cuda-nvrtc-cu12 12.9.86 manylinux2010_x86_64.manylinux_2_12_x86_64 210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4
nvidia-cuda-runtime-cu12 12.9.79 manylinux2014_x86_64.manylinux_2_17_x86_64 25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3
nvidia-cudnn-cu12 9.28.0.42 manylinux_2_27_x86_64 9ff58b7f36dacd0a93e89f8f2957b52466889217963701daa15e577317cfa375
nvidia-cufft-cu12 11.4.1.4 manylinux2014_x86_64.manylinux_2_17_x86_64 c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28
nvidia-curand-cu12 10.3.10.19 manylinux_2_27_x86_64 49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e
nvidia-cusolver-cu12 11.7.5.82 manylinux_2_27_x86_64 15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88
nvidia-cusparse-cu12 12.5.10.65 manylinux2014_x86_64.manylinux_2_17_x86_64 73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78
nvidia-nccl-cu12 2.32.3 manylinux_2_27_x86_64 bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c
nvidia-nvjitlink-cu12 12.9.86 manylinux2010_x86_64.manylinux_2_12_x86_64 e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9
`
  .trim()
  .split("\n")
  .map((line) => line.split(" ") as [name: string, version: string, platform: string, sha256: string]);

function tensorflowWheel(name: string, tag: string, sha256: string): Wheel {
  return { name, version: tensorflow, file: `${name.replace("-", "_")}-${tensorflow}-cp311-cp311-${tag}.whl`, sha256 };
}

/** @returns undefined where no wheel holds the libraries in the form that the recipe needs. */
export function recipeFor(variant: Variant, platform: string, arch: string): Recipe | undefined {
  const id = `tensorflow-${variant}-${tensorflow}-tfjs-${archives.tfjsNode.version}`;
  if (platform !== "linux") return undefined;
  if (variant === "gpu") {
    if (arch !== "x64") return undefined;
    const wheels = [
      tensorflowWheel("tensorflow", x64, "9056fbc9ba04235810b71ae6cbd958a196e8804fb53bbcffbf3e23b56155f124"),
      ...cuda.map(([name, version, tag, sha256]) => ({
        name,
        version,
        file: `${name.replaceAll("-", "_")}-${version}-py3-none-${tag}.whl`,
        sha256,
      })),
    ];
    return { id, archives, wheels, platforms: [x64, "manylinux2014_x86_64", "manylinux2010_x86_64"], ...gpuBytes };
  }
  if (arch === "x64") {
    const sha256 = "2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c";
    return { id, archives, wheels: [tensorflowWheel("tensorflow-cpu", x64, sha256)], platforms: [x64], ...cpuBytes };
  }
  if (arch === "arm64") {
    const sha256 = "4b24aca16d527a3cf1c37f720c04c484c3d20f4d0fdfa98632ac8b9f3be6eb5c";
    return { id, archives, wheels: [tensorflowWheel("tensorflow", arm64, sha256)], platforms: [arm64], ...cpuBytes };
  }
  return undefined;
}
