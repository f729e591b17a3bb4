//! `cargo xtask providers`: gets the BLAS libraries that the program can load.
//!
//! Nothing is installed in the system: Debian's packages are unpacked, and wheels put, into folders of
//! `target/providers`, one a provider and named like it. A machine that cannot get one is told so loudly.

use std::fs;
use std::path::{Path, PathBuf};

use super::step::{Failure, Step};
use super::{Command, Workspace};

pub(super) const COMMAND: Command = Command {
    name: "providers",
    arguments: "install [PROVIDER ...]",
    about: "get OpenBLAS, BLIS and MKL to load at run time",
    details: || {
        let mut text =
            String::from("Without a name all are got, each into target/providers/NAME:\n\n");
        for library in LIBRARIES {
            text.push_str(&format!("  {:<18}{}\n", library.name, library.about));
        }
        text.push_str(
            "\nA program finds them with TENFERRO_PROVIDER_PATH=target/providers. MKL's licence is Intel's\n\
             Simplified Software License, which is not an open one; the others have BSD licences.\n",
        );
        text
    },
    run: |workspace, mut arguments| {
        match arguments.positional().as_deref() {
            Some("install") => {}
            Some(word) => {
                return Err(Failure::Usage(format!(
                    "`providers {word}`? There is `providers install`"
                )));
            }
            None => {
                return Err(Failure::Usage(
                    "what about the providers? `providers install`".to_owned(),
                ));
            }
        }
        let mut names = Vec::new();
        while let Some(name) = arguments.positional() {
            names.push(name);
        }
        arguments.finish_alone()?;
        let missed = install(workspace, &names)?;
        if missed.is_empty() {
            return Ok(());
        }
        Err(Failure::Red(format!("{} provider(s) could not be got", missed.len())))
    },
};

/// A library and where it comes from.
struct Library {
    /// The provider, which is also its folder.
    name: &'static str,
    about: &'static str,
    /// The file in the folder that is opened.
    file: &'static str,
    source: Source,
}

/// Where a library comes from.
enum Source {
    /// Packages of Debian, and the folders of their libraries below the one for the machine's architecture.
    Debian { packages: &'static [&'static str], folders: &'static [&'static str] },
    /// Wheels of the Python Package Index, and the folder of their libraries.
    Wheels { wheels: &'static [&'static str], folder: &'static str },
}

impl Source {
    fn is_that_of(&self, other: &Source) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

const fn debian(
    name: &'static str,
    about: &'static str,
    file: &'static str,
    packages: &'static [&'static str],
    folders: &'static [&'static str],
) -> Library {
    Library { name, about, file, source: Source::Debian { packages, folders } }
}

#[rustfmt::skip] // a row a library
const LIBRARIES: &[Library] = &[
    debian("openblas", "OpenBLAS with threads of its own, from Debian", "libopenblas.so.0",
           &["libopenblas0-pthread", "libgfortran5"], &["openblas-pthread", ""]),
    debian("openblas-openmp", "OpenBLAS on OpenMP, from Debian", "libopenblas.so.0",
           &["libopenblas0-openmp", "libgfortran5", "libgomp1"], &["openblas-openmp", ""]),
    debian("openblas-serial", "OpenBLAS without threads, from Debian", "libopenblas.so.0",
           &["libopenblas0-serial", "libgfortran5"], &["openblas-serial", ""]),
    debian("blis", "BLIS with threads of its own, from Debian", "libblis.so.4",
           &["libblis4-pthread"], &["blis-pthread"]),
    debian("blis-openmp", "BLIS on OpenMP, from Debian", "libblis.so.4",
           &["libblis4-openmp", "libgomp1"], &["blis-openmp", ""]),
    debian("blis-serial", "BLIS without threads, from Debian", "libblis.so.4",
           &["libblis4-serial"], &["blis-serial"]),
    Library {
        name: "openblas-scipy",
        about: "a newer OpenBLAS whose symbols begin with scipy_, from a wheel",
        file: "libscipy_openblas.so",
        source: Source::Wheels {
            wheels: &["scipy-openblas32==0.3.34.481.3"],
            folder: "scipy_openblas32/lib",
        },
    },
    Library {
        name: "openblas-scipy64",
        about: "the same with integers of 64 bits",
        file: "libscipy_openblas64_.so",
        source: Source::Wheels {
            wheels: &["scipy-openblas64==0.3.34.481.3"],
            folder: "scipy_openblas64/lib",
        },
    },
    Library {
        name: "mkl",
        about: "Intel's MKL with its OpenMP runtime, from wheels; 800 MB",
        file: "libmkl_rt.so.3",
        source: Source::Wheels { wheels: &["mkl==2026.2.1", "intel-openmp==2026.2.0"], folder: "lib" },
    },
];

/// Where the providers' folders are.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join("target/providers")
}

/// The providers that are there.
pub(super) fn installed(root: &Path) -> Vec<&'static str> {
    let is_there = |library: &&Library| library.path(root).is_file();
    LIBRARIES.iter().filter(is_there).map(|library| library.name).collect()
}

/// The providers that are not.
pub(super) fn absent(root: &Path) -> Vec<&'static str> {
    let there = installed(root);
    LIBRARIES.iter().map(|library| library.name).filter(|name| !there.contains(name)).collect()
}

/// A folder with an OpenBLAS under the name that a linker looks for, if there is one.
pub(super) fn to_link(root: &Path) -> Result<Option<PathBuf>, Failure> {
    let installed = folder(root).join("openblas");
    let (file, folder) = (installed.join("libopenblas.so.0"), root.join("target/providers-linked"));
    if !file.is_file() {
        return Ok(None);
    }
    link_libraries(&installed, &make(&folder)?)?;
    link(&file, &folder.join("libopenblas.so"))?;
    Ok(Some(folder))
}

/// Gets those that are named, or all, and leaves those that are there; the ones that could not be got.
pub(super) fn install(
    workspace: &Workspace,
    names: &[String],
) -> Result<Vec<&'static str>, Failure> {
    let known = |name: &String| LIBRARIES.iter().any(|library| library.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
        return Err(Failure::Usage(format!(
            "no provider is called `{unknown}`; there are {}",
            all.join(", ")
        )));
    }
    let wanted = |library: &&Library| names.is_empty() || names.iter().any(|n| n == library.name);
    let mut missed: Vec<&Library> = Vec::new();
    for library in LIBRARIES.iter().filter(wanted) {
        if library.path(workspace.root()).is_file() {
            eprintln!("{}: is there", library.name);
            continue;
        }
        // Where the network says no, it says so slowly: it is asked once a source.
        let failed = match missed.iter().find(|missed| missed.source.is_that_of(&library.source)) {
            Some(missed) => Err(Failure::Red(format!("its source had not {} either", missed.name))),
            None => library.install(workspace.root()),
        };
        if let Err(failure) = failed {
            eprintln!("\n!! SKIPPED: {} could not be got: {failure}\n", library.name);
            missed.push(library);
        }
    }
    Ok(missed.into_iter().map(|library| library.name).collect())
}

impl Library {
    fn path(&self, root: &Path) -> PathBuf {
        folder(root).join(self.name).join(self.file)
    }

    fn install(&self, root: &Path) -> Result<(), Failure> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            let rule = "libraries are got for Linux on x86-64; install one and name its folder in TENFERRO_PROVIDER_PATH";
            return Err(Failure::Red(rule.to_owned()));
        }
        let unpacked = make(&folder(root).join("unpacked").join(self.name))?;
        for step in self.steps(&unpacked) {
            step.run(&unpacked)?;
        }
        let target = make(&folder(root).join(self.name))?;
        for source in self.folders(root, &unpacked)? {
            link_libraries(&source, &target)?;
        }
        if self.path(root).is_file() {
            return Ok(());
        }
        Err(Failure::Red(format!("{} is not among the files of {}", self.file, self.name)))
    }

    /// The lines that get and unpack it, run in its folder.
    fn steps(&self, unpacked: &Path) -> Vec<Step> {
        match self.source {
            Source::Debian { packages, .. } => {
                // A machine that is new has no lists of packages yet; the names of the files hold versions.
                let get = "apt-get download -qq $options -o APT::Sandbox::User=root \"$@\"";
                let script = format!(
                    "options='-o Acquire::Retries=1 -o Acquire::http::Timeout=20'\n\
                     {get} || {{ apt-get update -qq $options && {get}; }}\n\
                     for file in *.deb; do dpkg -x \"$file\" .; done; rm *.deb"
                );
                let script = Step::program("sh", ["-ec".to_owned(), script, "apt".to_owned()]);
                vec![script.args(packages.iter().copied())]
            }
            Source::Wheels { wheels, .. } => vec![
                Step::program("python3", ["-m", "pip", "install", "--quiet", "--no-deps"])
                    .args(["--disable-pip-version-check", "--root-user-action=ignore"])
                    .args(["--timeout", "20", "--retries", "1"])
                    .args(["--ignore-installed", "--prefix"])
                    .args([unpacked.to_string_lossy()])
                    .args(wheels.iter().copied()),
            ],
        }
    }

    /// The folders whose libraries belong to it.
    fn folders(&self, root: &Path, unpacked: &Path) -> Result<Vec<PathBuf>, Failure> {
        match self.source {
            Source::Debian { folders, .. } => {
                let libraries = unpacked.join("usr/lib/x86_64-linux-gnu");
                Ok(folders.iter().map(|folder| libraries.join(folder)).collect())
            }
            Source::Wheels { folder, .. } if folder == "lib" => Ok(vec![unpacked.join(folder)]),
            Source::Wheels { folder, .. } => {
                // Where a Python of this version keeps its packages.
                let ask =
                    "import sysconfig; print(sysconfig.get_path('purelib', vars={'base': '.'}))";
                let printed = Step::program("python3", ["-c", ask]).read(root)?;
                Ok(vec![unpacked.join(printed.output.trim()).join(folder)])
            }
        }
    }
}

/// The folder, made if it is not there.
fn make(folder: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::Red(format!("{} cannot be made: {error}", folder.display())))?;
    Ok(folder.to_owned())
}

/// Links the shared libraries of a folder, not of those in it, into another.
fn link_libraries(source: &Path, target: &Path) -> Result<(), Failure> {
    let failed = |what: &Path, error| Failure::Red(format!("{}: {error}", what.display()));
    for entry in fs::read_dir(source).map_err(|error| failed(source, error))? {
        let path = entry.map_err(|error| failed(source, error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !name.contains(".so") || path.is_dir() {
            continue;
        }
        link(&path, &target.join(name))?;
    }
    Ok(())
}

/// Links a file, or copies it where that cannot be.
fn link(path: &Path, place: &Path) -> Result<(), Failure> {
    let failed = |what: &Path, error| Failure::Red(format!("{}: {error}", what.display()));
    let _ = fs::remove_file(place);
    let file = fs::canonicalize(path).map_err(|error| failed(path, error))?;
    fs::hard_link(&file, place)
        .or_else(|_| fs::copy(&file, place).map(drop))
        .map_err(|error| failed(place, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_packages_are_unpacked_and_wheels_put_into_a_folder_without_their_dependencies() {
        let lines = |name: &str| {
            let library = LIBRARIES.iter().find(|library| library.name == name).unwrap();
            let steps = library.steps(Path::new("here"));
            steps.iter().map(Step::to_string).collect::<Vec<_>>().join("\n")
        };
        assert!(lines("openblas").contains("apt libopenblas0-pthread libgfortran5"));
        assert!(lines("openblas").contains("dpkg -x"));
        assert!(lines("mkl").contains("--no-deps") && lines("mkl").contains("--prefix here mkl=="));
    }

    #[test]
    fn a_source_that_did_not_answer_is_known_by_its_kind() {
        let source =
            |name: &str| &LIBRARIES.iter().find(|library| library.name == name).unwrap().source;
        assert!(source("blis").is_that_of(source("openblas")));
        assert!(source("mkl").is_that_of(source("openblas-scipy")));
        assert!(!source("mkl").is_that_of(source("blis")));
    }

    #[test]
    fn an_unknown_provider_is_refused_with_the_names_that_exist() {
        let failure = install(&Workspace::find(), &["atlas".to_owned()]).unwrap_err();
        assert!(failure.to_string().contains("openblas, openblas-openmp"), "{failure}");
    }
}
