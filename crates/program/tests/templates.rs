//! Templates: programs whose named axes may have any size.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_ops::{Meta, reference::Reference};
use tenferro_program::{
    Argument, Cache, Error, Extent, Passes, Pattern, Program, Scan, Spec, Template, Traced, trace,
};
use tenferro_tensor::{DType, KeepAxes, Shape, Tensor};

fn pattern(name: &str, extents: &[Extent]) -> Pattern {
    Pattern::new(DType::F64, extents.to_vec()).named(name)
}

fn axis(name: &str) -> Extent {
    Extent::from(name)
}

fn numbers(extents: &[usize]) -> Tensor {
    let elements = extents.iter().product();
    let elements = (0..elements).map(|place| (place as f64 * 0.7).sin()).collect();
    Tensor::from_vec_col_major(extents.to_vec(), elements).unwrap()
}

fn meta(extents: &[usize]) -> Meta {
    Meta { dtype: DType::F64, shape: Shape::new(extents).unwrap() }
}

fn run(program: &Program, inputs: &[Tensor]) -> Vec<Vec<u64>> {
    let prepared = program.prepare(&Passes::all()).unwrap();
    let results = prepared.run(&mut Reference, inputs.iter().map(Argument::from)).unwrap();
    results
        .iter()
        .map(|result| result.to_vec_col_major::<f64>().unwrap())
        .map(|elements| elements.iter().map(|element| element.to_bits()).collect())
        .collect()
}

/// Cross entropy of a linear model, over a batch.
fn loss(xs: &[Traced]) -> Traced {
    let (w, x, targets) = (&xs[0], &xs[1], &xs[2]);
    let logits = w.matmul(x);
    let chances = logits.log_softmax([0]);
    -(chances * targets).sum([0], KeepAxes::Drop).mean([0], KeepAxes::Drop)
}

fn patterns() -> [Pattern; 3] {
    [
        pattern("w", &[axis("classes"), 3.into()]),
        pattern("x", &[3.into(), axis("batch")]),
        pattern("targets", &[axis("classes"), axis("batch")]),
    ]
}

fn extents(classes: usize, batch: usize) -> [[usize; 2]; 3] {
    [[classes, 3], [3, batch], [classes, batch]]
}

fn reads_back(template: &Template) {
    let again: Template = template.to_string().parse().unwrap();
    assert_eq!(again.to_string(), template.to_string());
    assert_eq!(&again, template);
}

#[test]
fn a_template_prints_names_in_the_place_of_extents() {
    let template = Template::trace(&patterns(), loss).unwrap();
    assert_snapshot!(template, @r"
    program(w: f64[classes, 3], x: f64[3, batch], targets: f64[classes, batch]) {
        %3: f64[classes, batch] = dot_general(w, x) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %4: f64[1, batch] = max(%3) { axes: [0], keep: Keep }
        %5: f64[1, batch] = floor(%4)
        %6: f64[classes, batch] = sub(%3, %5)
        %7: f64[classes, batch] = exp(%6)
        %8: f64[1, batch] = sum(%7) { axes: [0], keep: Keep }
        %9: f64[1, batch] = log(%8)
        %10: f64[classes, batch] = sub(%6, %9)
        %11: f64[classes, batch] = mul(%10, targets)
        %12: f64[batch] = sum(%11) { axes: [0], keep: Drop }
        %13: f64[] = sum(%12) { axes: [0], keep: Drop }
        %14: f64[] = constant batch
        %15: f64[] = div(%13, %14)
        %16: f64[] = neg(%15)
        return %16
    }
    ");
    reads_back(&template);
    assert_eq!(template.axes().collect::<Vec<_>>(), ["classes", "batch"]);
}

#[test]
fn a_template_is_at_each_size_what_a_trace_there_is() {
    let template = Template::trace(&patterns(), loss).unwrap();
    let slope = template.value_and_grad().unwrap();
    reads_back(&slope);
    for (classes, batch) in [(1, 1), (2, 1), (1, 4), (5, 7), (40, 2)] {
        let extents = extents(classes, batch);
        let specs = extents.map(|extents| Spec::new(DType::F64, extents).unwrap());
        let named: Vec<Spec> = specs
            .into_iter()
            .zip(["w", "x", "targets"])
            .map(|(spec, name)| spec.named(name))
            .collect();
        let traced = trace(&named, loss).unwrap();
        let inputs = extents.map(|extents| numbers(&extents));
        let sizes = template.sizes(&extents.map(|extents| meta(&extents))).unwrap();
        assert_eq!(sizes, [classes, batch]);
        assert_eq!(template.at(&sizes).unwrap(), traced);
        let expected = run(&traced.value_and_grad().unwrap(), &inputs);
        assert_eq!(run(&slope.at(&sizes).unwrap(), &inputs), expected, "{classes} {batch}");
    }
}

#[test]
fn extents_may_be_sums_and_products_of_axes() {
    let patterns = [pattern("x", &[axis("n"), axis("m")]), pattern("y", &[axis("k")])];
    let template = Template::trace(&patterns, |xs| {
        let (x, y) = (&xs[0], &xs[1]);
        let flat = x.reshape([x.shape().unwrap().elements()]);
        let twice = flat.concatenate(&[flat.clone(), y.clone()], 0_usize);
        let zero = y.constant(Tensor::scalar(0.0).unwrap());
        twice.pad(&zero, [(1, 0, 0)]).outer(y)
    })
    .unwrap();
    assert_snapshot!(template, @r"
    program(x: f64[n, m], y: f64[k]) {
        %2: f64[m*n] = reshape(x) { extents: [m*n] }
        %3: f64[2*m*n + k] = concatenate(%2, %2, y) { axis: 0 }
        %4: f64[] = constant 0.0
        %5: f64[2*m*n + k + 1] = pad(%3, %4) { padding: [{ low: 1 }] }
        %6: f64[2*m*n + k + 1, 1] = reshape(%5) { extents: [2*m*n + k + 1, 1] }
        %7: f64[2*m*n + k + 1, k] = mul(%6, y)
        return %7
    }
    ");
    reads_back(&template);
    let program = template.at(&[2, 3, 4]).unwrap();
    assert_eq!(program.output_metas()[0].shape[..], [17, 4]);
    // What a pullback is given has the extents of the results.
    let pullback = template.vjp().unwrap();
    reads_back(&pullback);
    let metas = [meta(&[2, 3]), meta(&[4]), meta(&[17, 4])];
    assert_eq!(pullback.sizes(&metas).unwrap(), [2, 3, 4]);
    let metas = [meta(&[2, 3]), meta(&[4]), meta(&[16, 4])];
    assert_snapshot!(pullback.sizes(&metas).unwrap_err(), @"input 2 is f64[16, 4] and it has to be f64[2*m*n + k + 1, k]");
}

#[test]
fn a_loop_may_run_along_a_named_axis() {
    let patterns = [pattern("start", &[2.into()]), pattern("xs", &[2.into(), axis("steps")])];
    let template = Template::trace(&patterns, |xs| {
        Scan::over(&[&xs[1]]).run(&[&xs[0]], |state, element| {
            let next = (&state[0] * &element[0]).tanh();
            (vec![next.clone()], vec![next])
        })
    })
    .unwrap();
    assert_snapshot!(template, @r"
    program(start: f64[2], xs: f64[2, steps]) {
        %2: f64[2], %3: f64[2, steps] = scan(start, xs) { carries: 1, sequences: 1, length: steps, direction: Forward } {
            body: program(%0: f64[2], %1: f64[2]) {
                %2: f64[2] = mul(%0, %1)
                %3: f64[2] = tanh(%2)
                return %3, %3
            }
        }
        return %2, %3
    }
    ");
    reads_back(&template);
    reads_back(&template.vjp().unwrap());
    let results = run(&template.at(&[5]).unwrap(), &[numbers(&[2]), numbers(&[2, 5])]);
    assert_eq!(results[0], results[1][8..]);
}

#[test]
fn sizes_that_do_not_agree_are_refused_with_the_name_of_the_axis() {
    let template = Template::trace(&patterns(), loss).unwrap();
    let refusal = |extents: &[&[usize]]| {
        let inputs: Vec<Tensor> = extents.iter().map(|extents| numbers(extents)).collect();
        let inputs = inputs.iter().map(Argument::from).collect();
        Cache::new(1).run(&mut Reference, &template, inputs).unwrap_err()
    };
    let error = refusal(&[&[4, 3], &[3, 8], &[4, 9]]);
    assert!(matches!(error, Error::AxisMismatch { first: 8, second: 9, .. }), "{error:?}");
    assert_snapshot!(error, @"axis `batch` is 8 in input 1 and 9 in input 2; give it one size");
    assert_snapshot!(refusal(&[&[4, 3], &[2, 8], &[4, 8]]), @"input 1 is f64[2, 8] and it has to be f64[3, batch]");
    assert_snapshot!(refusal(&[&[4, 3], &[3], &[4, 8]]), @"input 1 is f64[3] and it has to be f64[3, batch]");
    assert_snapshot!(refusal(&[&[4, 3], &[3, 8]]), @"the program has 3 inputs and was given 2");
}

#[test]
fn sizes_at_which_a_step_does_not_fit_are_refused() {
    let extremes =
        Template::trace(&[pattern("x", &[axis("n")])], |xs| xs[0].max([0], KeepAxes::Drop));
    assert_snapshot!(extremes.unwrap().at(&[0]).unwrap_err(), @"with n = 0: max: no maximum over axis 0 of shape (0,), which is empty");
    let inner = Template::trace(&[pattern("x", &[axis("n")])], |xs| {
        let n = xs[0].shape().unwrap()[0];
        xs[0].slice([1], [n - 1], [1])
    });
    let inner = inner.unwrap();
    assert_eq!(inner.at(&[2]).unwrap().output_metas()[0].shape[..], [0]);
    assert_snapshot!(inner.at(&[1]).unwrap_err(), @"with n = 1: slice: slice 1..0 with stride 1 of axis 0 with extent 1: the start must not be past the limit");
    assert_snapshot!(inner.at(&[0]).unwrap_err(), @"with n = 0: limits: -1 is out of range");
}

#[test]
fn what_depends_on_sizes_in_another_way_is_no_template() {
    let refusal = |name: &str, f: &dyn Fn(&Traced, usize) -> Traced| {
        let template = Template::trace(&[pattern("x", &[axis(name)])], |xs| {
            f(&xs[0], xs[0].shape().unwrap()[0])
        });
        template.unwrap_err()
    };
    assert_snapshot!(refusal("n", &|x, n| x.slice([0], [n / 2], [1])), @"extent 0 of value 1 is no polynomial in the sizes of named axes");
    assert_snapshot!(refusal("n", &|x, n| if n > 12 { x.exp() } else { x.sin() }), @"the steps of the program depend on the sizes of named axes");
    assert_snapshot!(refusal("n", &|x, n| (0..n).fold(x.clone(), |y, _| y.exp())), @"the steps of the program depend on the sizes of named axes");
    assert_snapshot!(refusal("n", &|x, n| x + x.constant(numbers(&[n]))), @"the value of `constant` is no polynomial in the sizes of named axes");
    assert_snapshot!(refusal("n", &|x, n| x * (1.0 / n as f64)), @"the value of `constant` is no polynomial in the sizes of named axes");
    assert_snapshot!(refusal("f64", &|x, _| x.exp()), @r#"no axis can be called "f64"; a name is a word of letters, digits and underscores that is no dtype and no parameter"#);
    assert_snapshot!(refusal("Drop", &|x, _| x.exp()), @r#"no axis can be called "Drop"; a name is a word of letters, digits and underscores that is no dtype and no parameter"#);
    // A step that never fits is reported with its place.
    let error = refusal("n", &|x, _| x + x.constant(numbers(&[3])));
    let text = error.to_string();
    assert!(text.starts_with("with n = 11: `add` of f64[11], f64[3] at "), "{text}");
    assert!(text.contains("templates.rs"), "{text}");
}

#[test]
fn texts_that_are_no_template_are_refused_with_the_place() {
    let refusal = |text: &str| text.parse::<Template>().unwrap_err();
    assert_snapshot!(refusal("program(x: f64[n]) {\n    y = add(x, k)\n    return y\n}"), @"line 2, column 16: there is no value `k` before this place");
    assert_snapshot!(refusal("program(x: f64[n]) {\n    y: f64[m] = exp(x)\n    return y\n}"), @"line 2, column 12: expected a whole number, found `m`");
    assert_snapshot!(refusal("program(x: f64[n]) {\n    y: f64[2*n] = exp(x)\n    return y\n}"), @"line 2, column 5: the result is f64[11], not f64[22]");
    assert_snapshot!(refusal("program(x: f64[2*n]) {\n    y = exp(x)\n    return y\n}"), @"no extent of an input is the size of axis `n` alone");
    assert_snapshot!(refusal("program(x: f64[99999999999999999999*99999999999999999999*n]) {\n    return x\n}"), @"line 1, column 16: expected a number of less digits, found `99999999999999999999`");
    assert_snapshot!("program(x: f64[n]) { return x }".parse::<Program>().unwrap_err(), @"line 1, column 16: expected a whole number, found `n`");
    // A program is a template without axes.
    let plain: Template = "program(x: f64[2]) {\n    y = exp(x)\n    return y\n}".parse().unwrap();
    assert_eq!(plain.axes().len(), 0);
    assert_eq!(plain.at(&[]).unwrap().output_metas()[0].shape[..], [2]);
}
